import type { Attempt } from './attempt.js';
import { brand } from './brand.js';
import { BudgetStage } from './budget-stage.js';
import { parseDuration, type Duration } from './duration.js';
import { EventSource, type ResilienceEvent, type ResilienceListener } from './events.js';
import { misuseOf } from './execute-options.js';
import { Execution, type ExecuteOptions, type Work } from './execution.js';
import { Pipeline, type Stage } from './pipeline.js';
import { OptionError, requireFunction, show } from './options.js';
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
  private latestBudget: { readonly budget: Duration; readonly pipeline: Pipeline } | undefined = undefined;

  /**
   * Puts policies around each other, the first one outermost. Wraps inside are flattened; without policies the result
   * runs its calls as they are.
   *
   * @throws TypeError when an argument is no policy.
   */
  static wrap(...policies: readonly ResiliencePolicy[]): ResiliencePolicy {
    policies.forEach((policy, index) => requirePolicy(policy, `policies[${index}]`));

    return new PolicyWrap(policies);
  }

  /**
   * Runs `work` under this policy and resolves to what it returns. Rejects with what the work throws, with the
   * policy's own error, or, as soon as `options.signal` or the attempt around aborts, with that reason.
   *
   * @throws TypeError (as a rejection) when `work` is not a function, an option is unknown, or `signal` is
   * not an `AbortSignal`.
   */
  execute<T>(work: (context: AttemptContext) => T | PromiseLike<T>, options?: ExecuteOptions): Promise<T> {
    const misuse = misuseOf(work, options);
    if (misuse !== undefined) return Promise.reject(misuse);

    if (options?.budget === undefined) return PromiseExecution.run(this.pipeline, options, work) as Promise<T>;

    return this.executeWithin(options.budget, options, work) as Promise<T>;
  }

  /** Calls `listener` with the events of this policy, and of all its stages, until the returned function is called. */
  abstract subscribe(listener: ResilienceListener): () => void;

  /** @internal */
  protected abstract readonly events: EventSource;

  private async executeWithin(budget: Duration, options: ExecuteOptions, work: Work): Promise<unknown> {
    return PromiseExecution.run(this.budgeted(budget), options, work);
  }

  /** The stages with a budget for the whole call; kept, since most callers give the same one each time. */
  private budgeted(budget: Duration): Pipeline {
    if (this.latestBudget?.budget !== budget) {
      const budgetMs = parseDuration(budget, 'budget', { positive: true });
      const resolved = { name: this.name, budgetMs, minRemainingMs: 1, inherited: false };
      this.latestBudget = { budget, pipeline: this.pipeline.within(new BudgetStage(resolved, this.events)) };
    }

    return this.latestBudget.pipeline;
  }
}

brand(ResiliencePolicy, Symbol.for('holdfast.policy'));

/** A policy of another copy of this package is one too. */
export function requirePolicy(given: unknown, path: string): void {
  const pipeline = (given as Partial<ResiliencePolicy> | null | undefined)?.pipeline;
  if (Array.isArray(pipeline?.stages)) return;

  const remedy = Array.isArray(given)
    ? 'Spread it: ResiliencePolicy.wrap(...policies).'
    : 'Use policies such as new RetryPolicy(), or createPolicy() for options.';
  throw new OptionError(path, `expected a policy, got ${show(given)}. ${remedy}`);
}

/** One policy by itself. The base of each of them. */
export abstract class StagePolicy extends ResiliencePolicy implements Stage {
  readonly name: string;
  /** @internal */
  readonly pipeline: Pipeline;
  protected readonly events = new EventSource();

  protected constructor(name: string) {
    super();
    this.name = name;
    this.pipeline = new Pipeline([this]);
  }

  subscribe(listener: ResilienceListener): () => void {
    return this.events.subscribe(listener);
  }

  /** @internal */
  get repeatable(): boolean {
    return true;
  }

  /** @internal */
  get limits(): boolean {
    return false;
  }

  /** @internal */
  get answersFailures(): boolean {
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
  protected readonly events = new EventSource();
  private readonly policies: readonly ResiliencePolicy[];

  constructor(policies: readonly ResiliencePolicy[], name?: string) {
    super();
    const stages = policies.flatMap((policy) => policy.pipeline.stages);
    this.policies = policies;
    this.pipeline = new Pipeline(stages);
    this.name = name ?? (policies.map((policy) => policy.name).join(' > ') || 'noop');
  }

  subscribe(listener: ResilienceListener): () => void {
    requireFunction(listener, 'listener');
    // A policy that stands at two places tells of each event once.
    const cancels = [this.events, ...new Set(this.policies)].map((source) => source.subscribe(listener));

    return () => cancels.forEach((cancel) => cancel());
  }
}

/** As `ResiliencePolicy.wrap`, under a name of its own. */
export function wrapNamed(name: string, policies: readonly ResiliencePolicy[]): ResiliencePolicy {
  return new PolicyWrap(policies, name);
}

type Resolve = (value: unknown) => void;
type Reject = (reason: unknown) => void;

const nobody = (): void => {};
let latestResolve: Resolve = nobody;
let latestReject: Reject = nobody;

/** The one executor of all promises: a closure per call would only be read once. */
function keepSettlers(resolve: Resolve, reject: Reject): void {
  latestResolve = resolve;
  latestReject = reject;
}

const settled = Promise.resolve();

/**
 * An execution whose outcome is a promise. Where nothing but the work can end the call, that is the very promise which
 * hears of the work's outcome; elsewhere it is one that can be settled at any time.
 */
class PromiseExecution extends Execution {
  private readonly work: Work;
  /**
   * What is returned unless the call can be given up: a promise of the outcome that is there already, or one that
   * settles after the work, with what {@link conclude} makes of its outcome.
   */
  private promise: Promise<unknown> | undefined = undefined;
  private outlet: 'none' | 'chained' | 'own' | 'delivered' = 'none';
  private resolve: Resolve = nobody;
  private reject: Reject = nobody;

  constructor(pipeline: Pipeline, options: ExecuteOptions | undefined, work: Work) {
    super(pipeline, options);
    this.work = work;
  }

  static run(pipeline: Pipeline, options: ExecuteOptions | undefined, work: Work): Promise<unknown> {
    const execution = new PromiseExecution(pipeline, options, work);
    execution.start();
    const { promise } = execution;
    if (promise === undefined) return execution.ownPromise();
    if (execution.outlet === 'delivered') return promise;
    if (execution.canBeCutAround(pipeline.stages.length)) return execution.ownPromise();

    execution.outlet = 'chained';
    return promise;
  }

  performWork(attempt: Attempt): void {
    this.performHandler(attempt, this.work);
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
    if (this.outlet === 'own') {
      this.settleOwn(ok, value);
      return;
    }
    // A callback that has made the caller leave may go on to throw: that comes after the outcome, and is not it.
    if (this.outlet === 'none') this.promise = ok ? Promise.resolve(value) : rejectLater(value);
    this.outlet = 'delivered';
  }

  private await(attempt: Attempt, result: PromiseLike<unknown>): void {
    // Other thenables may call back twice, at once or throw; a promise around them does not.
    const chained = attempt.promiseOf(result).then(
      (value) => this.conclude(attempt, true, value),
      (error: unknown) => this.conclude(attempt, false, error),
    );
    if (this.outlet === 'none') this.promise = chained;
  }

  private conclude(attempt: Attempt, ok: boolean, value: unknown): unknown {
    const isOutlet = this.outlet === 'chained';
    this.settle(attempt, ok, value);
    if (!isOutlet) return undefined;
    if (this.outlet !== 'delivered') return this.ownPromise();
    if (this.ok) return this.value;

    throw this.value;
  }

  private settleOwn(ok: boolean, value: unknown): void {
    if (ok) this.resolve(value);
    else this.reject(value);
  }

  private ownPromise(): Promise<unknown> {
    const promise = new Promise(keepSettlers);
    this.resolve = latestResolve;
    this.reject = latestReject;
    latestResolve = latestReject = nobody;
    this.outlet = 'own';
    return promise;
  }
}

/**
 * Rejects once the caller has had time to listen: the runtime keeps account of promises that are rejected before
 * anybody does, which costs more than the whole refusal.
 */
function rejectLater(reason: unknown): Promise<never> {
  return new Promise((_, reject) => {
    void settled.then(() => reject(reason));
  });
}
