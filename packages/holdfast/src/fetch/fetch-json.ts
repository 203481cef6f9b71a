import { now } from '../clock.js';
import { meetDeadline, type Deadline } from '../deadline.js';
import { parseDuration, type Duration } from '../duration.js';
import { DeadlineExceededError, ResilienceTimeoutError } from '../errors.js';
import { OptionError, show } from '../options.js';
import { currentScope, type Scope } from '../scope.js';
import { followSignal, type Follower, type Link } from '../signals.js';
import { isTimeout, limitBehind, nameOf, timeLimitError } from '../time-limit-error.js';
import { startTimer, stopTimer, type Timer } from '../timers.js';
import { discard, Drain } from './answer-body.js';
import { failure, type FetchFailure, type FetchOutcome, type TimeoutReason } from './outcome.js';
import { markSent, readSingleUse } from './request-body.js';

const NAME = 'fetchJson';

/**
 * Fetches JSON within a limit: connecting, redirects, the head and the body of the answer together. Resolves to the
 * value, or to the reason why there is none; it does not reject for what a dependency does.
 *
 * The signal of `init` joins the limit, and so do the attempt and the deadline around, where there are any: the first of
 * them ends the call at once, whatever `fetch` does, and closes its connection. No call is made when that has happened
 * before, or when `limit` or the deadline leaves no time. An answer that is not `ok` is drained, within the limit and
 * up to 64 kB, and then cancelled, so that its connection is given back. An answer that comes after the limit, since
 * the event loop was held, is none.
 *
 * @param limit A duration; 0 or less makes no call.
 * @throws TypeError as a rejection, when `limit` is no duration, `signal` is none, the body is a stream that has been
 * read, or there is no `fetch`.
 */
export async function fetchJson<T>(
  url: string | URL | Request,
  init: RequestInit | undefined,
  limit: Duration,
): Promise<FetchOutcome<T>> {
  const limitMs = readLimit(limit);
  const caller = readSignal(url, init);
  const body = readSingleUse(url, init);
  requireFetch();
  const scope = currentScope();
  const deadline = scope?.deadline;
  if (limitMs === 0) return failure('budget_exhausted', 0);
  if (deadline?.exhausted === true) return neverStarted(timeLimitError(deadline.nothingLeft()));

  const aborted = caller?.aborted === true ? caller : scope?.aborted === true ? scope.signal : undefined;
  if (aborted !== undefined) return neverStarted(aborted.reason);

  markSent(body);
  const call = new LimitedCall(limitMs, deadline);
  call.follow(caller, scope);
  return call.start(url, init) as Promise<FetchOutcome<T>>;
}

function readLimit(limit: unknown): number {
  // What is left of a budget may have gone below 0 by the time that it is handed on.
  if (typeof limit === 'number' && limit <= 0) return 0;

  return parseDuration(limit, 'limit');
}

/** The signal that `fetch` would go by: that of `init` in place of that of a `Request`. */
function readSignal(url: unknown, init: RequestInit | undefined): AbortSignal | undefined {
  if (init !== undefined && 'bodyUsed' in init) {
    throw new OptionError('init', 'got a Request. Pass it as the first argument, or new Request(url, request).');
  }
  const signal: unknown = init?.signal === undefined ? (url as Partial<Request>).signal : init.signal;
  if (signal === undefined || signal === null) return undefined;
  if (typeof (signal as Partial<AbortSignal>).addEventListener === 'function') return signal as AbortSignal;

  throw new OptionError('init.signal', `expected an AbortSignal, got ${show(signal)}. Pass controller.signal.`);
}

function requireFetch(): void {
  if (typeof globalThis.fetch === 'function') return;

  throw new OptionError('', 'There is no fetch in this runtime. Set globalThis.fetch before the first call.');
}

function neverStarted(cause: unknown): FetchFailure {
  return failure(isTimeout(cause) ? 'budget_exhausted' : 'client_abort', 0, { cause });
}

/** One call while it runs. Holds its controller and its timer itself, so that neither can be collected before. */
class LimitedCall implements Follower {
  private readonly controller = new AbortController();
  private readonly startedAt = now();
  private readonly limitMs: number;
  /** The deadline around, when it comes before the limit. */
  private readonly deadline: Deadline | undefined;
  private readonly dueAt: number;
  private timer: Timer = undefined;
  private callerLink: Link | undefined = undefined;
  private leaveScope: (() => void) | undefined = undefined;
  private settled = false;
  /** Nothing that comes counts any more, though whoever set the deadline has yet to end the call. */
  private isOver = false;
  private deliver: (outcome: FetchOutcome<unknown>) => void = () => {};
  /** The answer, once its head has come in time. */
  private answer: Response | undefined = undefined;
  private readonly drain = new Drain();

  constructor(limitMs: number, around: Deadline | undefined) {
    const leftMs = around === undefined ? Infinity : around.remaining();
    this.limitMs = limitMs;
    this.deadline = leftMs <= limitMs ? around : undefined;
    this.dueAt = this.startedAt + Math.min(leftMs, limitMs);
  }

  follow(caller: AbortSignal | undefined, scope: Scope | undefined): void {
    if (caller !== undefined && scope?.hasGiven(caller) !== true) this.callerLink = followSignal(caller, this);
    if (scope === undefined) return;

    const link = scope.follow({
      onAbort: (reason) => this.onAbort(reasonForFetch(reason)),
    });
    this.leaveScope = () => scope.leave(link);
  }

  start(url: string | URL | Request, init: RequestInit | undefined): Promise<FetchOutcome<unknown>> {
    return new Promise((resolve) => {
      this.deliver = resolve;
      this.timer = startTimer(this.dueAt - this.startedAt, expire, this);
      void this.perform(url, init);
    });
  }

  /** The caller, or the attempt around, has aborted. */
  onAbort(reason: unknown): void {
    this.cut(reason, isTimeout(reason) ? 'upstream_timeout' : 'client_abort');
  }

  get lifted(): boolean {
    return this.settled;
  }

  /** The limit, or the deadline around, is over. */
  expire(): void {
    this.isOver = true;
    if (this.deadline === undefined) this.end();
    else meetDeadline(this.deadline, this, () => this.end());
  }

  private end(): void {
    const { deadline, limitMs } = this;
    const error =
      deadline === undefined
        ? new ResilienceTimeoutError(limitMs, NAME)
        : new DeadlineExceededError(deadline.budgetMs, deadline.policy);
    this.cut(timeLimitError(error), 'upstream_timeout');
  }

  private async perform(url: string | URL | Request, init: RequestInit | undefined): Promise<void> {
    try {
      const response = await globalThis.fetch(url, { ...init, signal: this.controller.signal });
      if (!this.isInTime()) return discard(response);

      this.answer = response;
      if (response.ok) await this.parse(response);
      else await this.refuse(response);
    } catch (error) {
      if (this.isInTime()) this.settle(this.failed(reasonOf(error), error));
    }
  }

  private async parse(response: Response): Promise<void> {
    const value: unknown = await response.json();
    if (this.isInTime()) this.settle({ ok: true, value, ms: this.elapsed() });
  }

  private async refuse(response: Response): Promise<void> {
    await this.drain.read(response.body);
    if (!this.settled && !this.isOver) this.settle(this.failed('upstream_error', undefined));
  }

  /** Whether what has just come still counts. Timers of a held event loop may not have fired yet. */
  private isInTime(): boolean {
    if (!this.settled && !this.isOver && now() >= this.dueAt) this.expire();

    return !this.settled && !this.isOver;
  }

  private cut(reason: unknown, why: TimeoutReason): void {
    // A clock that was mocked meanwhile may let a stopped timer fire.
    if (this.settled) return;

    this.settle(this.failed(why, reason));
    this.controller.abort(reason);
    this.drain.stop();
  }

  /** An answer that was refused is that, whatever has become of its body. */
  private failed(reason: TimeoutReason, cause: unknown): FetchFailure {
    const { status, ok, headers } = this.answer ?? {};
    if (ok === false) return failure('upstream_error', this.elapsed(), { status, cause, headers });

    return failure(reason, this.elapsed(), { status, cause });
  }

  private elapsed(): number {
    return Math.round(now() - this.startedAt);
  }

  private settle(outcome: FetchOutcome<unknown>): void {
    this.settled = true;
    stopTimer(this.timer);
    this.callerLink?.cut();
    this.leaveScope?.();
    this.deliver(outcome);
  }
}

/** A limit of a policy around, in the form that code which looks at names understands. */
function reasonForFetch(reason: unknown): unknown {
  const limit = limitBehind(reason);

  return limit === reason && limit !== undefined ? timeLimitError(limit) : reason;
}

function expire(call: LimitedCall): void {
  call.expire();
}

/** What `fetch` or the body has thrown by itself; stand-ins for `fetch` tell of limits of their own. */
function reasonOf(error: unknown): TimeoutReason {
  const name = nameOf(error);
  if (name === 'TimeoutError') return 'upstream_timeout';

  return name === 'AbortError' ? 'client_abort' : 'upstream_error';
}
