/** Starts work; what it throws at once is a rejection like any other. */
export function started(work, signal) {
    return new Promise((resolve) => resolve(work({ signal })));
}
/** Settles as `promise` does, unless `signal` aborts first: then with its reason, and `onAbort` is called. */
export function untilAbort(promise, signal, onAbort = () => { }) {
    if (signal === undefined)
        return promise;
    return new Promise((resolve, reject) => {
        const abort = () => {
            onAbort();
            reject(signal.reason);
        };
        const settled = () => signal.removeEventListener('abort', abort);
        if (signal.aborted)
            return abort();
        signal.addEventListener('abort', abort, { once: true });
        promise.finally(settled).then(resolve, reject);
    });
}
//# sourceMappingURL=running.js.map