import type { BackoffFunction, BackoffOptions, TimeoutFunction } from 'holdfast';
import { createBackoff, parseDuration } from 'holdfast/binding';

/** How long one entrypoint may keep its caller waiting. */
export interface TimeBudget {
  /** The entrypoint, such as `ShippingController.getQuotes`; with the name of a fan-out in it, `PagesController.page > fan-out`. */
  readonly source: string;
  /**
   * Milliseconds until the last attempt is given up, when each of them takes all of its time; at most the budget.
   * `Infinity` when nothing ends an attempt, or nothing ends the attempts. A fallback's own time comes on top.
   */
  readonly worstCaseMs: number;
  /** Milliseconds that `Retry-After` hints of the dependency may add to that, within the budget. */
  readonly retryAfterMs: number;
  /** How the worst case adds up, such as `2 x 1500 ms + 200 ms of backoff = 3200 ms`. */
  readonly arithmetic: string;
}

export interface TimeBudgetInput {
  readonly source: string;
  /** For all attempts together; `undefined` without one. */
  readonly budgetMs: number | undefined;
  /** How many attempts a call may make; 1 where it is never repeated. */
  readonly attempts: number;
  /** In milliseconds, or a function of the attempt; `undefined` without a limit. */
  readonly timeout: number | TimeoutFunction | undefined;
  /** The outbound rate limit's longest wait before each attempt; `undefined` without one. */
  readonly maxWaitMs: number | undefined;
  readonly backoff: BackoffOptions | BackoffFunction | undefined;
  readonly retryAfter: boolean;
}

/** Further ones are counted like the last of these. */
const MOST_STEPS = 1_000;

export function timeBudget(input: TimeBudgetInput): TimeBudget {
  const sum = sumOfAttempts(input);

  return input.budgetMs === undefined ? sum : cap(sum, input.budgetMs);
}

/** The same within a budget for all of it. */
function cap({ source, worstCaseMs, retryAfterMs, arithmetic }: TimeBudget, budgetMs: number): TimeBudget {
  if (worstCaseMs + retryAfterMs <= budgetMs) return { source, worstCaseMs, retryAfterMs, arithmetic };

  const cappedMs = Math.min(worstCaseMs, budgetMs);
  return {
    source,
    worstCaseMs: cappedMs,
    retryAfterMs: Number.isFinite(worstCaseMs) ? budgetMs - cappedMs : 0,
    arithmetic: worstCaseMs > budgetMs ? `${arithmetic}, at most the budget of ${budgetMs} ms` : arithmetic,
  };
}

function sumOfAttempts(input: TimeBudgetInput): TimeBudget {
  const { source, attempts, timeout, maxWaitMs = 0 } = input;
  if (timeout === undefined) return boundless(source, 'no timeout: nothing ends an attempt');
  if (attempts === Infinity) return boundless(source, 'attempts: Infinity, and no limit for all of them together');

  const limits = sumOfLimits(timeout, attempts);
  if (limits === undefined) return boundless(source, 'the timeout function gave no valid duration');

  const waits = sumOfWaits(input);
  if (waits === undefined) return boundless(source, 'the backoff function gave no valid duration without an error');

  const worstCaseMs = limits.totalMs + attempts * maxWaitMs + waits.scheduledMs;
  const parts = [
    limits.text,
    maxWaitMs > 0 ? `${attempts} x ${maxWaitMs} ms of rate limit` : '',
    attempts > 1 ? `${waits.scheduledMs} ms of backoff` : '',
  ].filter((part) => part !== '');

  return {
    source,
    worstCaseMs,
    retryAfterMs: waits.hintedMs - waits.scheduledMs,
    arithmetic: `${parts.join(' + ')} = ${worstCaseMs} ms`,
  };
}

function boundless(source: string, reason: string): TimeBudget {
  return { source, worstCaseMs: Infinity, retryAfterMs: 0, arithmetic: `${reason} = Infinity` };
}

function sumOfLimits(
  timeout: number | TimeoutFunction,
  attempts: number,
): { readonly totalMs: number; readonly text: string } | undefined {
  if (typeof timeout === 'number') return { totalMs: attempts * timeout, text: `${attempts} x ${timeout} ms` };

  const limitsMs = tabulate(attempts, (attempt) => parseDuration(timeout(attempt), '', { positive: true }));
  if (limitsMs === undefined) return undefined;

  return { totalMs: total(limitsMs, attempts), text: `(${textOf(limitsMs, attempts)}) ms` };
}

interface Waits {
  /** Before jitter. */
  readonly scheduledMs: number;
  /** With the longest hint in place of each. */
  readonly hintedMs: number;
}

function sumOfWaits({ attempts, backoff = {}, retryAfter }: TimeBudgetInput): Waits | undefined {
  const rule = createBackoff(typeof backoff === 'function' ? backoff : { ...backoff, jitter: 'none' });
  const waitsMs = tabulate(attempts - 1, (failed) => rule.delayMs(failed, undefined));
  if (waitsMs === undefined) return undefined;

  const longestMs = retryAfter ? rule.longestHintMs : 0;
  return {
    scheduledMs: total(waitsMs, attempts - 1),
    hintedMs: total(
      waitsMs.map((waitMs) => Math.max(waitMs, longestMs)),
      attempts - 1,
    ),
  };
}

/** The values for 1, 2, 3 …; `undefined` when somebody's function fails. */
function tabulate(count: number, valueOf: (index: number) => number): readonly number[] | undefined {
  try {
    return Array.from({ length: Math.min(count, MOST_STEPS) }, (_, index) => valueOf(index + 1));
  } catch {
    return undefined;
  }
}

function total(values: readonly number[], count: number): number {
  const sum = values.reduce((soFar, value) => soFar + value, 0);

  return count > values.length ? sum + (count - values.length) * (values.at(-1) ?? 0) : sum;
}

function textOf(values: readonly number[], count: number): string {
  return count <= 4 ? values.join(' + ') : `${values.slice(0, 3).join(' + ')} + …`;
}
