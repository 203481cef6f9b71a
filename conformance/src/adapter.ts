/**
 * The one narrow face by which scenarios see a library. An adapter sets a library up as its documentation says, with
 * whichever documented options make it behave as asked; what a library has not got, its adapter leaves out or refuses
 * with {@link NotOffered}.
 */

/** What the work of an attempt is given. */
export interface Attempt {
  /** The library's own signal for this attempt; `undefined` where it hands none out. */
  readonly signal?: AbortSignal | undefined;
}

export type Work<T> = (attempt: Attempt) => Promise<T> | T;

export interface Policy {
  /** Rejects with the error of the library, or of the work. */
  run<T>(work: Work<T>, signal?: AbortSignal): Promise<T>;
}

export interface BreakerPolicy extends Policy {
  state(): 'closed' | 'open' | 'half-open';
  /** Calls `listener` at each change of state, with the new one. */
  onState(listener: (state: 'closed' | 'open' | 'half-open') => void): void;
  /** Calls in the window, where the library tells; otherwise `undefined`. */
  callsInWindow?(): number | undefined;
}

export interface BulkheadPolicy extends Policy {
  running(): number;
  waiting(): number;
}

export interface BackoffSpec {
  readonly delayMs: number;
  /** 1 keeps the delay. */
  readonly factor: number;
  readonly maxDelayMs: number;
  /** Whether waits are spread at random; without it they are exact. */
  readonly jitter: boolean;
}

export interface RetrySpec {
  /** With the first one. */
  readonly attempts: number;
  readonly backoff: BackoffSpec;
  /** Default: every error is retried. */
  readonly retryIf?: (error: unknown) => boolean;
  /** Retries results too. */
  readonly retryResultIf?: (result: unknown) => boolean;
  /** Waits as long as the header `retry-after` of an error's `headers` says: seconds, or an HTTP date. Default: not. */
  readonly honourRetryAfter?: boolean;
}

export interface BreakerSpec {
  /** Percent, above 0. */
  readonly failureRate: number;
  readonly minimumCalls: number;
  /** Of so many calls, or of so many milliseconds. */
  readonly window: { readonly calls: number } | { readonly ms: number };
  readonly openMs: number;
  readonly probes: number;
  /** Which errors count; the others count neither way. Default: all. */
  readonly recordIf?: (error: unknown) => boolean;
  /** A call of at least this many milliseconds is a slow one; at the rate of these, in percent, the breaker opens too. */
  readonly slow?: { readonly ms: number; readonly rate: number };
}

/** A queue that no scenario fills. */
export const PLENTY = 1_000;

export interface BulkheadSpec {
  readonly limit: number;
  /** Left out where calls without a slot may wait or be refused: {@link PLENTY}, or none in a library without a queue. */
  readonly queue?: number;
}

export interface RateLimitSpec {
  readonly limit: number;
  readonly intervalMs: number;
  /** How long a call may wait for its turn. Left out where it may as well be refused: whichever the library has. */
  readonly maxWaitMs?: number;
}

export interface BudgetSpec {
  readonly ms: number;
}

export interface FallbackSpec {
  /** Gives what the call resolves to instead of failing; what it throws reaches the caller. */
  readonly answer: () => unknown;
  /** Which errors are answered for. Default: every error. */
  readonly handleIf?: (error: unknown) => boolean;
}

export interface Adapter {
  readonly name: string;
  readonly version: string;
  /** By feature: the documented options which were set, or tried, so that it does what is asked. For the report. */
  readonly settings?: Readonly<Partial<Record<Feature, string>>>;
  /** It takes the signal of a caller. Left out where callers leave in another way, which an adapter does for them. */
  readonly signals?: true;
  /** It tells the state of its breakers. Left out where an adapter has to look into what the library keeps for itself. */
  readonly states?: true;
  retry?(spec: RetrySpec): Policy;
  timeout?(ms: number): Policy;
  breaker?(spec: BreakerSpec): BreakerPolicy;
  bulkhead?(spec: BulkheadSpec): BulkheadPolicy;
  rateLimit?(spec: RateLimitSpec): Policy;
  /** One limit over everything inside. */
  budget?(spec: BudgetSpec): Policy;
  fallback?(spec: FallbackSpec): Policy;
  /** Puts the first one around the second, and so on. */
  wrap?(...policies: readonly Policy[]): Policy;
  /**
   * Whether an error is the library's own refusal, by an open breaker, a full bulkhead or a rate limit; `retryAfterMs`
   * where it tells.
   */
  refusal?(error: unknown): { readonly retryAfterMs?: number | undefined } | undefined;
  /** Whether an error says that a limit ran out. */
  isTimeout?(error: unknown): boolean;
  /**
   * Whether an error, or the reason of a signal, is the library's own word for a call that was cancelled. Only where it
   * documents one, which says nothing of its caller's reason; left out where callers are to get that reason itself.
   */
  isCancelled?(error: unknown): boolean;
}

export type Feature = Exclude<keyof Adapter, 'name' | 'version' | 'settings' | 'isCancelled'>;

/**
 * A library has the feature, and not this side of it. Said at any time while a scenario runs, in a call that the
 * scenario only looks at too: it has not been played as it is written, and does not count, however it ends.
 */
export class NotOffered extends Error {
  static said: NotOffered | undefined;

  override readonly name = 'NotOffered';

  constructor(message: string) {
    super(message);
    NotOffered.said ??= this;
  }
}
