import { executing } from './faulty-calls.js';
/** The right engine with one fault, of the kind that real code has; by the invariant that finds it. */
export const FAULTS = {
    'own-signal': (engine) => executing(engine, (call) => call.run(callersSignal(call.work, call.options), call.options)),
    'one-listener': (engine) => executing(engine, (call) => {
        call.options.signal?.addEventListener('abort', () => { });
        return call.run(call.work, call.options);
    }),
    'quiet-after-success': (engine) => executing(engine, ({ run, work, options }) => {
        const made = [];
        const follow = () => made.forEach((controller) => controller.abort());
        const promise = run((attempt) => work(withSignal(attempt, made)), options);
        promise.then(follow, follow);
        return promise;
    }),
    'cut-attempts-are-told': (engine) => executing(engine, ({ run, work, options }) => run((attempt) => work(withSignal(attempt, [])), options)),
    'limit-to-the-millisecond': (engine) => ({
        ...engine,
        TimeoutPolicy: class extends engine.TimeoutPolicy {
            expire(...given) {
                setTimeout(() => super.expire(...given), 1);
            }
        },
    }),
    'first-reason': (engine) => executing(engine, ({ run, work, options }) => options.signal?.aborted === true ? Promise.reject(new Error('aborted')) : run(work, options)),
    'leaves-at-once': (engine) => executing(engine, ({ run, work, options: { signal: _forgotten, ...options } }) => run(work, options)),
    'nothing-for-nobody': (engine) => ({
        ...engine,
        RetryPolicy: class extends engine.RetryPolicy {
            leave(execution, at) {
                if (execution.cutting)
                    setTimeout(() => execution.proceed(at + 1), 5);
                return super.leave(execution, at);
            }
        },
    }),
    'outcome-passes': (engine) => ({
        ...engine,
        TimeoutPolicy: class extends engine.TimeoutPolicy {
            leave(execution, at) {
                if (execution.ok)
                    execution.value = undefined;
                return super.leave(execution, at);
            }
        },
    }),
    'retries-as-told': (engine) => ({
        ...engine,
        RetryPolicy: class extends engine.RetryPolicy {
            constructor(options) {
                super({ ...options, attempts: (options?.attempts ?? 3) + 1 });
            }
        },
    }),
    'fallback-as-told': (engine) => ({
        ...engine,
        FallbackPolicy: class extends engine.FallbackPolicy {
            constructor(...[handler, options]) {
                super(handler, { handleIf: () => true, ...options });
            }
        },
    }),
    'reasons-apart': (engine) => ({
        ...engine,
        TimeoutPolicy: class extends engine.TimeoutPolicy {
            leave(execution, at) {
                if (codeOf(execution.value) === 'TIMEOUT')
                    execution.value = new DOMException('Too late', 'AbortError');
                return super.leave(execution, at);
            }
        },
    }),
    'wall-clock-moves-nothing': (engine) => ({
        ...engine,
        CircuitBreakerPolicy: class extends engine.CircuitBreakerPolicy {
            constructor(...given) {
                super(...given);
                // Somebody else's clock: now that rules.
                globalThis.Date = class extends Date {
                };
            }
        },
    }),
    'stall-is-nobodys-fault': (engine) => ({
        ...engine,
        TimeoutPolicy: class extends engine.TimeoutPolicy {
            enter(execution, at) {
                const goesOn = super.enter(execution, at);
                const limit = execution.frame(at);
                if (limit !== undefined)
                    setTimeout(() => this.expire(limit, false), limit.limitMs);
                return goesOn;
            }
        },
    }),
    'listeners-change-nothing': (engine) => ({
        ...engine,
        RetryPolicy: class extends engine.RetryPolicy {
            subscribe(listener) {
                super.subscribe(listener);
                return super.subscribe(listener);
            }
        },
    }),
    'flaw-takes-the-place': (engine) => ({
        ...engine,
        RetryPolicy: class extends engine.RetryPolicy {
            constructor({ retryIf, ...options }) {
                super({ ...options, ...(retryIf !== undefined && { retryIf: unlessItThrows(retryIf) }) });
            }
        },
    }),
    'options-untouched': (engine) => ({
        ...engine,
        CircuitBreakerPolicy: class extends engine.CircuitBreakerPolicy {
            constructor(options) {
                super(options);
                Object.assign(options ?? {}, { minimumCalls: this.options.minimumCalls + 1 });
            }
        },
    }),
    'slots-as-counted': (engine) => ({
        ...engine,
        BulkheadPolicy: class extends engine.BulkheadPolicy {
            leave(execution, at) {
                if (execution.cutting)
                    execution.setFrame(at, undefined);
                return super.leave(execution, at);
            }
        },
    }),
    'tokens-as-counted': (engine) => ({
        ...engine,
        OutboundRateLimitPolicy: class extends engine.OutboundRateLimitPolicy {
            constructor(options) {
                super({ ...options, limit: options.limit + 1 });
            }
        },
    }),
    'breaker-as-counted': (engine) => ({
        ...engine,
        CircuitBreakerPolicy: class extends engine.CircuitBreakerPolicy {
            leave(execution, at) {
                const permit = execution.frame(at);
                // An outcome of an earlier era counts in this one.
                if (permit !== undefined)
                    Object.assign(permit, { era: Reflect.get(this, 'era') });
                return super.leave(execution, at);
            }
        },
    }),
    'refusals-cost-nothing': (engine) => ({
        ...engine,
        BulkheadPolicy: class extends engine.BulkheadPolicy {
            enter(execution, at) {
                clearTimeout(setTimeout(() => { }, 0));
                return super.enter(execution, at);
            }
        },
    }),
    'attempt-knows-its-place': (engine) => executing(engine, ({ run, work, options }) => run((attempt) => work(Object.defineProperty(Object.create(attempt), 'attempt', { value: 1 })), options)),
    'answers-in-time': (engine) => ({
        ...engine,
        fanOut: ((sections, options) => engine.fanOut(sections, { ...options, budget: 2 * Number(options?.budget) })),
    }),
    'answers-tell-what-is-missing': (engine) => ({
        ...engine,
        fanOut: ((sections, options) => engine
            .fanOut(sections, options)
            .then(({ data }) => ({ data, degraded: [], partial: false }))),
    }),
    'nothing-left': (engine) => ({
        ...engine,
        TimeoutPolicy: class extends engine.TimeoutPolicy {
            leave(execution, at) {
                execution.setFrame(at, undefined);
                // Far later than all that a scenario waits for.
                setTimeout(() => { }, FAR_LATER_MS);
                return super.leave(execution, at);
            }
        },
    }),
    'nothing-unhandled': (engine) => executing(engine, ({ run, work, options }) => {
        const promise = run(work, options);
        void promise.then(() => { });
        return promise;
    }),
};
const FAR_LATER_MS = 1_000_000;
function codeOf(error) {
    return error?.code;
}
function unlessItThrows(predicate) {
    return (...given) => {
        try {
            return predicate(...given);
        }
        catch {
            return false;
        }
    };
}
function callersSignal(work, { signal }) {
    return (attempt) => work(signal === undefined
        ? attempt
        : Object.defineProperty(Object.create(attempt), 'signal', { value: signal }));
}
/** The attempt with the signal of a controller that is kept among others. */
function withSignal(attempt, made) {
    const controller = new AbortController();
    made.push(controller);
    return Object.defineProperty(Object.create(attempt), 'signal', { value: controller.signal });
}
//# sourceMappingURL=faults.js.map