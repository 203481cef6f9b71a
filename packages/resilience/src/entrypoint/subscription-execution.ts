import { AsyncResource } from 'node:async_hooks';
import type { Attempt, Work } from 'holdfast/binding';
import { outsideApproaches } from './approach.js';
import { EntrypointExecution } from './entrypoint-execution.js';
import { AwaitedEvents, isAsyncIterable, OpenedEvents, OutgoingEvents } from './event-streams.js';

/**
 * The execution around a handler that opens a stream of events. An attempt has succeeded with its first event, or with
 * an end that comes before it: until then it is limited, repeated and replaced, and holds what it holds. After that
 * nothing of it is left.
 *
 * The server is given the stream as soon as one is open, and not with the first event: a client may unsubscribe from a
 * stream that has nothing to say, and servers close only what they have been given.
 */
export class SubscriptionExecution extends EntrypointExecution {
  /** The asynchronous context of the attempt that runs: generators begin when their first event is asked for. */
  private attemptContext: AsyncResource | undefined = undefined;
  /** Of the attempt that runs. */
  private opened: OpenedEvents | undefined = undefined;
  private first: IteratorResult<unknown> | undefined = undefined;
  private awaited: AwaitedEvents | undefined = undefined;

  override settle(attempt: Attempt, ok: boolean, value: unknown): void {
    const events = ok ? this.takeEvents() : undefined;
    if (events === undefined) super.settle(attempt, ok, value);
    else this.open(attempt, events);
  }

  protected override performHandler(attempt: Attempt, work: Work): void {
    this.attemptContext = outsideApproaches(() => new AsyncResource('ResilienceSubscription'));
    super.performHandler(attempt, work);
  }

  /** What has been given up is closed, and counts as running until it says that it is. */
  protected override drop(attempt: Attempt): boolean {
    const { opened } = this;
    this.opened = undefined;
    if (opened !== undefined) attempt.watch(closed(opened));

    return super.drop(attempt);
  }

  protected override deliver(ok: boolean, value: unknown): void {
    const { awaited, first, opened } = this;
    if (awaited === undefined) return super.deliver(ok, value);

    this.endWatch();
    this.opened = this.attemptContext = undefined;
    if (ok) return opened && first ? awaited.begin(opened, first) : awaited.fail(noEvents());

    // It has had its first event, and the predicate of a stage did not let that pass.
    if (opened !== undefined) void closed(opened);
    if (this.isOfOurClient(value)) awaited.finish();
    else awaited.fail(value);
  }

  /** Of several values the last one is the answer; one that is no stream is GraphQL's to refuse. */
  private takeEvents(): AsyncIterable<unknown> | undefined {
    const last = this.held?.at(-1);
    if (!isAsyncIterable(last)) return undefined;

    this.held = undefined;
    return last;
  }

  private open(attempt: Attempt, events: AsyncIterable<unknown>): void {
    let opened: OpenedEvents;
    try {
      opened = new OpenedEvents(events);
    } catch (error) {
      return super.settle(attempt, false, error);
    }
    this.opened = opened;
    const next = (): Promise<IteratorResult<unknown>> => opened.next();
    (this.attemptContext?.runInAsyncScope(next) ?? next()).then(
      (first) => this.onFirst(attempt, opened, first),
      (error: unknown) => this.onFailed(attempt, opened, error),
    );
    this.handOut();
  }

  private handOut(): void {
    if (this.awaited !== undefined) return;

    const { call, subscriber } = this;
    this.awaited = new AwaitedEvents(() => this.leaveWithClient());
    subscriber.next(new OutgoingEvents(this.awaited, call, call.outlet.translate));
    this.completeEarly();
  }

  private onFirst(attempt: Attempt, opened: OpenedEvents, first: IteratorResult<unknown>): void {
    if (this.opened !== opened) return;

    this.first = first;
    super.settle(attempt, true, undefined);
  }

  /** Iterators that have failed are not told that nobody reads them. */
  private onFailed(attempt: Attempt, opened: OpenedEvents, error: unknown): void {
    if (this.opened !== opened) return;

    this.opened = undefined;
    super.settle(attempt, false, error);
  }
}

/** Whatever it says to that. */
function closed(opened: OpenedEvents): Promise<unknown> {
  return opened.close().catch(() => undefined);
}

/** In the words of GraphQL, which has been given a stream before. */
function noEvents(): TypeError {
  return new TypeError('Subscription field must return Async Iterable.');
}
