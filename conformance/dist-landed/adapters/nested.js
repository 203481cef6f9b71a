/** Policies as functions that call each other, the first one outermost: each is the work of the one around it. */
export function nested(policies) {
    return policies.reduceRight((inner, outer) => ({
        run: (work, signal) => outer.run((attempt) => inner.run(work, attempt.signal ?? signal), signal),
    }));
}
//# sourceMappingURL=nested.js.map