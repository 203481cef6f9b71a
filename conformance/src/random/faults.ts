import type { Engine, Execution } from './engine.js';
import { executing, executingStages, type Attempt, type Options } from './faulty-calls.js';
import type { InvariantId } from './invariants.js';

/** The right engine with one fault, of the kind that real code has; by the invariant that finds it. */
export const FAULTS: Readonly<Record<InvariantId, (engine: Engine) => Engine>> = {
  'own-signal': (engine) => executing(engine, (call) => call.run(callersSignal(call.work, call.options), call.options)),
  'one-listener': (engine) =>
    executing(engine, (call) => {
      call.options.signal?.addEventListener('abort', () => {});
      return call.run(call.work, call.options);
    }),
  'controllers-on-demand': (engine) =>
    executing(engine, ({ run, work, options }) =>
      run((attempt) => {
        void new AbortController();
        return work(attempt);
      }, options),
    ),
  'quiet-after-success': (engine) =>
    executing(engine, ({ run, work, options }) => {
      const made: AbortController[] = [];
      const follow = (): void => made.forEach((controller) => controller.abort());
      const promise = run((attempt) => work(withSignal(attempt, made)), options);
      promise.then(follow, follow);
      return promise;
    }),
  'cut-attempts-are-told': (engine) =>
    executing(engine, ({ run, work, options }) => run((attempt) => work(withSignal(attempt, [])), options)),
  'limit-to-the-millisecond': (engine) => ({
    ...engine,
    TimeoutPolicy: class extends engine.TimeoutPolicy {
      override expire(...given: Parameters<Timeout['expire']>): void {
        setTimeout(() => super.expire(...given), 1);
      }
    },
  }),
  'first-reason': (engine) =>
    executing(engine, ({ run, work, options }) =>
      options.signal?.aborted === true ? Promise.reject(new Error('aborted')) : run(work, options),
    ),
  'leaves-at-once': (engine) =>
    executing(engine, ({ run, work, options: { signal: _forgotten, ...options } }) => run(work, options)),
  'nothing-for-nobody': (engine) => ({
    ...engine,
    RetryPolicy: class extends engine.RetryPolicy {
      override leave(execution: Execution, at: number): boolean {
        if (execution.cutting) setTimeout(() => execution.proceed(at + 1), 5);
        return super.leave(execution, at);
      }
    },
  }),
  'outcome-passes': (engine) => ({
    ...engine,
    TimeoutPolicy: class extends engine.TimeoutPolicy {
      override leave(execution: Execution, at: number): boolean {
        if (execution.ok) execution.value = undefined;
        return super.leave(execution, at);
      }
    },
  }),
  'retries-as-told': (engine) => ({
    ...engine,
    RetryPolicy: class extends engine.RetryPolicy {
      constructor(options: Exclude<RetryGiven, number | false>) {
        super({ ...options, attempts: (options?.attempts ?? 3) + 1 });
      }
    },
  }),
  'fallback-as-told': (engine) => ({
    ...engine,
    FallbackPolicy: class extends engine.FallbackPolicy {
      constructor(...[handler, options]: ConstructorParameters<Engine['FallbackPolicy']>) {
        super(handler, { handleIf: () => true, ...options });
      }
    },
  }),
  'reasons-apart': (engine) => ({
    ...engine,
    TimeoutPolicy: class extends engine.TimeoutPolicy {
      override leave(execution: Execution, at: number): boolean {
        if (codeOf(execution.value) === 'TIMEOUT') execution.value = new DOMException('Too late', 'AbortError');
        return super.leave(execution, at);
      }
    },
  }),
  'wall-clock-moves-nothing': (engine) => ({
    ...engine,
    CircuitBreakerPolicy: class extends engine.CircuitBreakerPolicy {
      constructor(...given: ConstructorParameters<Engine['CircuitBreakerPolicy']>) {
        super(...given);
        // Somebody else's clock: now that rules.
        globalThis.Date = class extends Date {} as DateConstructor;
      }
    },
  }),
  'stall-is-nobodys-fault': (engine) => ({
    ...engine,
    TimeoutPolicy: class extends engine.TimeoutPolicy {
      override enter(execution: Execution, at: number): boolean {
        const goesOn = super.enter(execution, at);
        const limit = execution.frame(at) as Limit | undefined;
        if (limit !== undefined) setTimeout(() => this.expire(limit, false), limit.limitMs);
        return goesOn;
      }
    },
  }),
  'listeners-change-nothing': (engine) => ({
    ...engine,
    RetryPolicy: class extends engine.RetryPolicy {
      override subscribe(listener: Parameters<Retry['subscribe']>[0]): () => void {
        super.subscribe(listener);
        return super.subscribe(listener);
      }
    },
  }),
  'flaw-takes-the-place': (engine) => ({
    ...engine,
    RetryPolicy: class extends engine.RetryPolicy {
      constructor({ retryIf, ...options }: RetryOptions) {
        super({ ...options, ...(retryIf !== undefined && { retryIf: unlessItThrows(retryIf) }) });
      }
    },
  }),
  'options-untouched': (engine) => ({
    ...engine,
    CircuitBreakerPolicy: class extends engine.CircuitBreakerPolicy {
      constructor(options: ConstructorParameters<Engine['CircuitBreakerPolicy']>[0]) {
        super(options);
        Object.assign(options ?? {}, { minimumCalls: this.options.minimumCalls + 1 });
      }
    },
  }),
  'slots-as-counted': (engine) => ({
    ...engine,
    BulkheadPolicy: class extends engine.BulkheadPolicy {
      override leave(execution: Execution, at: number): boolean {
        if (execution.cutting) execution.setFrame(at, undefined);
        return super.leave(execution, at);
      }
    },
  }),
  'tokens-as-counted': (engine) => ({
    ...engine,
    OutboundRateLimitPolicy: class extends engine.OutboundRateLimitPolicy {
      constructor(options: ConstructorParameters<Engine['OutboundRateLimitPolicy']>[0]) {
        super({ ...options, limit: options.limit + 1 });
      }
    },
  }),
  'breaker-as-counted': (engine) => ({
    ...engine,
    CircuitBreakerPolicy: class extends engine.CircuitBreakerPolicy {
      override leave(execution: Execution, at: number): boolean {
        const permit = execution.frame(at) as object | undefined;
        // An outcome of an earlier era counts in this one.
        if (permit !== undefined) Object.assign(permit, { era: Reflect.get(this, 'era') as object });
        return super.leave(execution, at);
      }
    },
  }),
  'refusals-cost-nothing': (engine) => ({
    ...engine,
    BulkheadPolicy: class extends engine.BulkheadPolicy {
      override enter(execution: Execution, at: number): boolean {
        clearTimeout(setTimeout(() => {}, 0));
        return super.enter(execution, at);
      }
    },
  }),
  'attempt-knows-its-place': (engine) =>
    executing(engine, ({ run, work, options }) => run((attempt) => work(attemptWith(attempt, 'attempt', 1)), options)),
  'answers-in-time': (engine) => ({
    ...engine,
    fanOut: ((sections, options) =>
      engine.fanOut(sections, { ...options, budget: 2 * Number(options?.budget) })) as Engine['fanOut'],
  }),
  'answers-tell-what-is-missing': (engine) => ({
    ...engine,
    fanOut: ((sections, options) =>
      engine
        .fanOut(sections, options)
        .then(({ data }) => ({ data, degraded: [], partial: false }))) as Engine['fanOut'],
  }),
  'nothing-left': (engine) => ({
    ...engine,
    TimeoutPolicy: class extends engine.TimeoutPolicy {
      override leave(execution: Execution, at: number): boolean {
        execution.setFrame(at, undefined);
        // Far later than all that a scenario waits for.
        setTimeout(() => {}, FAR_LATER_MS);
        return super.leave(execution, at);
      }
    },
  }),
  'nothing-unhandled': (engine) =>
    executing(engine, ({ run, work, options }) => {
      const promise = run(work, options);
      void promise.then(() => {});
      return promise;
    }),
};

/** The same in plain calls, where nothing looks between stages. */
export const PLAIN_FAULTS: Readonly<Partial<Record<InvariantId, (engine: Engine) => Engine>>> = {
  'leaves-at-once': (engine) =>
    executingStages(engine, ({ run, work, options: { signal: _forgotten, ...options } }) => run(work, options)),
  'first-reason': (engine) =>
    executingStages(engine, ({ run, work, options }) =>
      run(work, options).catch((error: unknown) => {
        throw options.signal?.aborted === true ? new Error('aborted') : error;
      }),
    ),
  'retries-as-told': (engine) => ({
    ...engine,
    createPolicy: ({ retry, ...options }, name) =>
      engine.createPolicy({ ...options, retry: typeof retry === 'object' ? { ...retry, attempts: 9 } : retry }, name),
  }),
  'slots-as-counted': (engine) => ({
    ...engine,
    createPolicy: ({ bulkhead: _forgotten, ...options }, name) => engine.createPolicy(options, name),
  }),
};

const FAR_LATER_MS = 1_000_000;

type Timeout = InstanceType<Engine['TimeoutPolicy']>;
type Limit = Parameters<Timeout['expire']>[0];
type Retry = InstanceType<Engine['RetryPolicy']>;
type RetryGiven = ConstructorParameters<Engine['RetryPolicy']>[0];
type RetryOptions = Exclude<RetryGiven, number | false | undefined>;

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code;
}

function unlessItThrows<A extends unknown[]>(predicate: (...given: A) => boolean): (...given: A) => boolean {
  return (...given) => {
    try {
      return predicate(...given);
    } catch {
      return false;
    }
  };
}

function callersSignal(work: (attempt: Attempt) => unknown, { signal }: Options): (attempt: Attempt) => unknown {
  return (attempt) => work(signal === undefined ? attempt : attemptWith(attempt, 'signal', signal));
}

/** The attempt with the signal of a controller that is kept among others. */
function withSignal(attempt: Attempt, made: AbortController[]): Attempt {
  const controller = new AbortController();
  made.push(controller);

  return attemptWith(attempt, 'signal', controller.signal);
}

/** The attempt with another value in one place. */
function attemptWith<K extends keyof Attempt>(attempt: Attempt, name: K, value: Attempt[K]): Attempt {
  return Object.defineProperty(Object.create(attempt) as Attempt, name, { value });
}
