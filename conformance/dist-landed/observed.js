import { setMaxListeners } from 'node:events';
/** Its rejection is handled. */
export function observe(promise) {
    const observed = {
        state: 'pending',
        value: undefined,
        error: undefined,
    };
    promise.then((value) => Object.assign(observed, { state: 'fulfilled', value }), (error) => Object.assign(observed, { state: 'rejected', error }));
    return observed;
}
/** Work that ends when, and how, a scenario says. */
export class Manual {
    constructor() {
        this.calls = 0;
        this.signals = [];
        this.ends = [];
        this.work = ({ signal }) => {
            this.calls += 1;
            this.signals.push(signal);
            return new Promise((resolve, reject) => this.ends.push({ resolve, reject }));
        };
    }
    /** @param call From 0. */
    resolve(call, value) {
        this.ends[call]?.resolve(value);
    }
    reject(call, error) {
        this.ends[call]?.reject(error);
    }
}
/** The abort listeners that hang on a signal, as far as they were added from here on. Node does not warn of them then. */
export function watchListeners(signal) {
    setMaxListeners(0, signal);
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    const known = new Set();
    signal.addEventListener = function add(...given) {
        if (given[0] === 'abort' && !known.has(given[1])) {
            known.add(given[1]);
            listeners += 1;
        }
        addEventListener.apply(this, given);
    };
    signal.removeEventListener = function remove(...given) {
        if (given[0] === 'abort' && known.delete(given[1]))
            listeners -= 1;
        removeEventListener.apply(this, given);
    };
    return () => listeners;
}
//# sourceMappingURL=observed.js.map