import type { Attempt } from './attempt.js';
import { EventSource, type ResilienceEvent, type ResilienceListener } from './events.js';
import { Execution, Pipeline, type ExecuteOptions, type Stage, type Work } from './execution.js';
import { show } from './options.js';
import { isThenable, type AttemptContext } from './scope.js';

/**
 * Something that calls can be run under: one of the policies, or several of them around each other.
 *
 * Create a policy once and use it for every call. Executions share nothing but the state that is the point of a
 * policy: a breaker's window, a bulkhead's slots, a rate limit's tokens.
 */
export abstract class ResiliencePolicy {
  /** Shown in events and errors. */
  abstract readonly name: string;

  /** @internal */
  abstract readonly pipeline: Pipeline;

  /**
   * Puts policies around each other, the first one outermost. Wraps inside are flattened; without policies the result
   * runs its calls as they are.
   */
  static wrap(...policies: readonly ResiliencePolicy[]): ResiliencePolicy {
    return new PolicyWrap(policies);
  }

  /**
   * Runs `work` under this policy and resolves to what it returns. Rejects with what the work throws, with the
   * policy's own error, or, as soon as `options.signal` or the attempt around aborts, with that reason.
   *
   * @throws TypeError (as a rejection) when `work` is not a function or `signal` is not an `AbortSignal`.
   */
  execute<T>(work: (context: AttemptContext) => T | PromiseLike<T>, options?: ExecuteOptions): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (typeof work !== 'function') throw new TypeError(`work: expected a function, got ${typeof work}.`);
      if (options !== undefined) checkOptions(options);
      new PromiseExecution(this.pipeline, options, { work, resolve, reject }).start();
    });
  }

  /** Calls `listener` with the events of this policy, and of all its stages, until the returned function is called. */
  abstract subscribe(listener: ResilienceListener): () => void;
}

function checkOptions({ signal }: ExecuteOptions): void {
  if (signal === undefined || typeof signal?.addEventListener === 'function') return;

  throw new TypeError(`signal: expected an AbortSignal, got ${show(signal)}.`);
}

/** One policy by itself. The base of each of them. */
export abstract class StagePolicy extends ResiliencePolicy implements Stage {
  readonly name: string;
  /** @internal */
  readonly pipeline: Pipeline;
  private readonly events = new EventSource();

  protected constructor(name: string) {
    super();
    this.name = name;
    this.pipeline = new Pipeline([this]);
  }

  subscribe(listener: ResilienceListener): () => void {
    return this.events.subscribe(listener);
  }

  /** @internal */
  get limits(): boolean {
    return false;
  }

  /** @internal */
  get limitMs(): number | undefined {
    return undefined;
  }

  /** @internal */
  abstract enter(execution: Execution, at: number): boolean;

  /** @internal */
  abstract leave(execution: Execution, at: number): boolean;

  /** Whether an event of this type would reach anybody. */
  protected isObserved(type: ResilienceEvent['type']): boolean {
    return this.events.isObserved(type);
  }

  protected emit(event: ResilienceEvent): void {
    this.events.emit(event);
  }
}

class PolicyWrap extends ResiliencePolicy {
  readonly name: string;
  readonly pipeline: Pipeline;
  private readonly policies: readonly ResiliencePolicy[];

  constructor(policies: readonly ResiliencePolicy[], name?: string) {
    super();
    const stages = policies.flatMap((policy) => policy.pipeline.stages);
    this.policies = policies;
    this.pipeline = new Pipeline(stages);
    this.name = name ?? (policies.map((policy) => policy.name).join(' > ') || 'noop');
  }

  subscribe(listener: ResilienceListener): () => void {
    const cancels = this.policies.map((policy) => policy.subscribe(listener));

    return () => cancels.forEach((cancel) => cancel());
  }
}

/** As `ResiliencePolicy.wrap`, under a name of its own. */
export function wrapNamed(name: string, policies: readonly ResiliencePolicy[]): ResiliencePolicy {
  return new PolicyWrap(policies, name);
}

interface PromiseCall {
  readonly work: Work;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

/** An execution whose outcome is a promise. */
class PromiseExecution extends Execution {
  private readonly call: PromiseCall;

  constructor(pipeline: Pipeline, options: ExecuteOptions | undefined, call: PromiseCall) {
    super(pipeline, options);
    this.call = call;
  }

  performWork(attempt: Attempt): void {
    this.performHandler(attempt, this.call.work);
  }

  protected performHandler(attempt: Attempt, work: Work): void {
    let result: unknown;
    try {
      result = work(attempt);
      if (isThenable(result)) {
        this.await(attempt, result);
        return;
      }
    } catch (error) {
      this.settle(attempt, false, error);
      return;
    }
    this.settle(attempt, true, result);
  }

  protected deliver(ok: boolean, value: unknown): void {
    if (ok) this.call.resolve(value as never);
    else this.call.reject(value);
  }

  private await(attempt: Attempt, result: PromiseLike<unknown>): void {
    // Other thenables may call back twice, at once or throw; a promise around them does not.
    const promise = result instanceof Promise ? result : Promise.resolve(result);
    promise.then(
      (value) => this.settle(attempt, true, value),
      (error: unknown) => this.settle(attempt, false, error),
    );
  }
}
