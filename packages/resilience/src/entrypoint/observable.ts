import { AsyncResource } from 'node:async_hooks';
import type { AttemptContext, ExecuteOptions, ResiliencePolicy } from 'holdfast';
import { Execution, isThenable, misuseOf, type Attempt, type Pipeline, type Work } from 'holdfast/binding';
import { EMPTY, from, isObservable, Observable, Subscriber } from 'rxjs';

/**
 * Executions whose outcome is a stream: each attempt subscribes anew, and an attempt that is given up is unsubscribed
 * from.
 */
export class ObservableExecution extends Execution {
  protected readonly subscriber: Subscriber<unknown>;
  private readonly work: Work;
  /** The context of the caller, for attempts that begin in that of whoever made the one before fail. */
  private readonly caller: AsyncResource | undefined;
  private subscription: Subscriber<unknown> | undefined = undefined;
  private committed = false;
  protected delivered = false;

  constructor(pipeline: Pipeline, options: ExecuteOptions | undefined, call: StreamCall) {
    super(pipeline, options);
    this.subscriber = call.subscriber;
    this.work = call.work;
    this.caller = call.repeats ? new AsyncResource('ResilienceExecution') : undefined;
  }

  /** Unsubscribing from an attempt ends it, and with it the need for its slot. */
  override get keepsSlots(): boolean {
    return false;
  }

  override isCommitted(): boolean {
    return this.committed;
  }

  performWork(attempt: Attempt): void {
    this.performHandler(attempt, this.work);
  }

  /** The consumer has gone: nobody hears the outcome. (The name that RxJS calls.) */
  unsubscribe(): void {
    if (this.delivered) return;

    this.delivered = true;
    this.onAbort(this.reasonOfLeaving());
  }

  /** Why the consumer has gone; what signals inside abort with. */
  protected reasonOfLeaving(): unknown {
    return new DOMException('The subscriber has unsubscribed', 'AbortError');
  }

  protected performHandler(attempt: Attempt, work: Work): void {
    let source: Observable<unknown>;
    try {
      source = streamOf(work(attempt), attempt);
    } catch (error) {
      this.settle(attempt, false, error);
      return;
    }
    this.listenTo(attempt, source);
  }

  protected override openScope(attempt: Attempt): void {
    if (attempt.attempt === 1 || this.caller === undefined) super.openScope(attempt);
    else this.caller.runInAsyncScope(() => super.openScope(attempt));
  }

  protected override drop(attempt: Attempt): boolean {
    this.stopListening();

    return !attempt.isWatched;
  }

  protected deliver(ok: boolean, value: unknown): void {
    if (this.delivered) return;

    this.delivered = true;
    if (ok) this.subscriber.complete();
    else this.fail(value);
  }

  /** The consumer hears of a failure. */
  protected fail(error: unknown): void {
    this.subscriber.error(error);
  }

  /** The consumer has all that it will get, although the call goes on. */
  protected completeEarly(): void {
    this.delivered = true;
    this.subscriber.complete();
  }

  /** A value of the attempt that runs. */
  onValue(_attempt: Attempt, value: unknown): void {
    this.commit();
    this.subscriber.next(value);
  }

  /** From now on nothing is repeated, replaced or timed out, and what is used inside has met the budget too. */
  protected commit(): void {
    if (this.committed) return;

    this.tellCommit();
    this.committed = true;
    this.deadline = this.outer?.deadline;
  }

  protected stopListening(): void {
    const { subscription } = this;
    this.subscription = undefined;
    subscription?.unsubscribe();
  }

  private listenTo(attempt: Attempt, source: Observable<unknown>): void {
    // Made before the subscription, so that a source which emits at once can be unsubscribed from while it does.
    const subscription = new AttemptSubscriber(this, attempt);
    this.subscription = subscription;
    try {
      source.subscribe(subscription);
    } catch (error) {
      // A source that has ended at once is torn down in here. Where it has ended, that is no failure any more.
      subscription.error(error);
    }
  }
}

function streamOf(result: unknown, attempt: Attempt): Observable<unknown> {
  // The factory may have aborted its own caller: then nobody would ever unsubscribe.
  if (isObservable(result)) return attempt.aborted ? EMPTY : result;

  // Not every thenable keeps the rules of promises, which RxJS relies on. And of() takes what has a method `schedule`
  // for a scheduler.
  return from(isThenable(result) ? attempt.promiseOf(result) : [result]);
}

/** Hears of the values and the end of one attempt. */
class AttemptSubscriber extends Subscriber<unknown> {
  constructor(
    private readonly execution: ObservableExecution,
    private readonly attempt: Attempt,
  ) {
    super();
  }

  /** Values may be proxies that do not let themselves be looked at; what RxJS is thrown here, nobody would hear of. */
  protected override _next(value: unknown): void {
    try {
      this.execution.onValue(this.attempt, value);
    } catch (error) {
      this._error(error);
    }
  }

  protected override _error(error: unknown): void {
    this.unsubscribe();
    this.execution.settle(this.attempt, false, error);
  }

  protected override _complete(): void {
    this.unsubscribe();
    this.execution.settle(this.attempt, true, undefined);
  }

  /**
   * Whatever the source's teardown throws, the attempt is over, and its outcome stands. RxJS would pass that on to whoever
   * ends the attempt: from a timer it would end the process, and the call would keep its slot for good.
   */
  override unsubscribe(): void {
    try {
      super.unsubscribe();
    } catch {
      // Dropped, as all that comes after an outcome.
    }
  }
}

export interface StreamCall {
  readonly subscriber: Subscriber<unknown>;
  readonly work: Work;
  /** Whether more than one attempt may follow. */
  readonly repeats: boolean;
}

/** The method `executeObservable` of policies. */
export function observe<T>(
  this: ResiliencePolicy,
  factory: (context: AttemptContext) => Observable<T> | PromiseLike<T> | T,
  options?: ExecuteOptions,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const misuse = misuseOf(factory, options, 'factory') ?? budgetOf(options);
    if (misuse !== undefined) {
      subscriber.error(misuse);
      return;
    }

    const call = { subscriber: subscriber as Subscriber<unknown>, work: factory as Work, repeats: true };
    const execution = new ObservableExecution(this.pipeline as Pipeline, options, call);
    subscriber.add(execution);
    execution.start();
  });
}

/** It would have no effect here, and whoever gives one counts on it. */
function budgetOf(options: ExecuteOptions | undefined): TypeError | undefined {
  if (options?.budget === undefined) return undefined;

  return new TypeError('budget: not an option of executeObservable(). Put a BudgetPolicy around the policy instead.');
}
