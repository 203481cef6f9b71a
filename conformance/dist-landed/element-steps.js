const COUNTED = [
    ...['indexOf', 'lastIndexOf', 'includes', 'find', 'findIndex', 'filter', 'map', 'forEach', 'reduce'],
    ...['some', 'every', 'slice', 'sort', 'toSorted'],
];
/**
 * Counts elements of arrays that are looked at or moved while `run` does its part, at most: what takes time with the
 * length of a list, without looking at a clock.
 */
export async function elementSteps(run) {
    let steps = 0;
    const { splice } = Array.prototype;
    const originals = COUNTED.map((name) => [name, Reflect.get(Array.prototype, name)]);
    const set = (name, value) => void Object.defineProperty(Array.prototype, name, { value, writable: true, configurable: true, enumerable: false });
    for (const [name, original] of originals) {
        set(name, function counting(...given) {
            steps += this.length;
            return Reflect.apply(original, this, given);
        });
    }
    set('splice', function counting(...given) {
        steps += Math.max(0, this.length - given[0]);
        return Reflect.apply(splice, this, given);
    });
    try {
        await run();
    }
    finally {
        for (const [name, original] of originals)
            set(name, original);
        set('splice', splice);
    }
    return steps;
}
//# sourceMappingURL=element-steps.js.map