export function guarantee(given) {
    return given;
}
//# sourceMappingURL=guarantee.js.map