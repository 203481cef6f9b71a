/** What all models of one execution share: time, what was found, and what was reached. */
export class Watch {
    constructor(world) {
        this.world = world;
        this.violations = [];
        this.reached = new Set();
        /** Runs in each callback that a user could have written, and each listener. */
        this.inCallback = () => { };
        /** How late the timers were that ended something with an error, in milliseconds. */
        this.lateness = new WeakMap();
        this.blames = new WeakMap();
        this.startedAt = world.now;
    }
    get now() {
        return this.world.now;
    }
    reach(state) {
        this.reached.add(state);
    }
    require(holds, invariant, what) {
        if (!holds)
            this.violations.push({ invariant, what, at: this.now - this.startedAt });
    }
    blame(error, blame) {
        if (typeof error === 'object' && error !== null)
            this.blames.set(error, blame);
    }
    blameOf(error) {
        return (typeof error === 'object' && error !== null && this.blames.get(error)) || 'unknown';
    }
}
/** What stands on an error; nothing on other values. */
export function shapeOf(error) {
    return typeof error === 'object' && error !== null ? error : {};
}
const REFUSALS = ['CIRCUIT_OPEN', 'BULKHEAD_FULL', 'RATE_LIMITED'];
export function isRefusal(error) {
    return REFUSALS.includes(shapeOf(error).code);
}
/** The error of a limit, also behind the form in which sections pass it on. */
export function limitIn(error) {
    const shape = shapeOf(error);
    const inner = shape.name === 'TimeoutError' ? shapeOf(shape.cause) : shape;
    return inner.code === 'TIMEOUT' || inner.code === 'DEADLINE_EXCEEDED' ? inner : undefined;
}
export function show(value) {
    const { code, name } = shapeOf(value);
    if (typeof code === 'string')
        return code;
    return value instanceof Error ? `${String(name)} "${value.message}"` : String(value);
}
//# sourceMappingURL=watch.js.map