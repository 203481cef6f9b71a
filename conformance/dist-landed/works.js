import assert from 'node:assert/strict';
/** Work that scenarios share. */
export const fine = () => Promise.resolve('fine');
export const failing = () => Promise.reject(new Error('down'));
export const hanging = () => new Promise(() => { });
/** Work that hangs until the signal of its attempt aborts, or that of its caller where it is given none. */
export function cooperative(callers) {
    return ({ signal = callers }) => new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
    });
}
/** Work that fails at once so many times, and is done from then on. */
export class Unreliable {
    /** @param details What each error carries. */
    constructor(clock, failures = Infinity, details = {}) {
        /** What it threw, in order. */
        this.errors = [];
        /** When each attempt began. */
        this.startedAt = [];
        this.work = async () => {
            this.startedAt.push(this.clock.now);
            if (this.calls > this.failures)
                return 'done';
            const error = Object.assign(new Error(`failure ${this.calls}`), this.details);
            this.errors.push(error);
            throw error;
        };
        this.clock = clock;
        this.failures = failures;
        this.details = details;
    }
    get calls() {
        return this.startedAt.length;
    }
}
/** Calls that fail, one after the other. */
export async function fail(policy, times) {
    for (let call = 0; call < times; call += 1)
        await policy.run(failing).catch(() => { });
}
export async function succeed(policy, times) {
    for (let call = 0; call < times; call += 1)
        await policy.run(fine);
}
/** Opens at the fourth call when half of them have failed, for a second; then one probe decides. */
export const BREAKER = {
    failureRate: 50,
    minimumCalls: 4,
    window: { ms: 60_000 },
    openMs: 1_000,
    probes: 1,
};
/** A breaker that has just opened. */
export async function opened({ library }, spec = {}) {
    const whole = { ...BREAKER, ...spec };
    const breaker = library.breaker(whole);
    await fail(breaker, whole.minimumCalls);
    assert.equal(breaker.state(), 'open', `${whole.minimumCalls} failures did not open it`);
    return breaker;
}
/** A breaker whose time is just over. */
export async function reopenable(stage, spec = {}) {
    const breaker = await opened(stage, spec);
    await stage.clock.tick(spec.openMs ?? BREAKER.openMs);
    return breaker;
}
//# sourceMappingURL=works.js.map