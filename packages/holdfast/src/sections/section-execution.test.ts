import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { answerAfter, failAfter, hang, honour } from '../../test/section-work.js';
import {
  adaptive,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
  type AttemptContext,
} from '../index.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

useFakeClock();

const down = new Error('down');
const open = { fallback: null } as const;
const other = required(() => 1, { timeout: 10 });

describe('the limit of a section', () => {
  it('aborts its signal with what the platform calls a timeout, and with our error behind it', async () => {
    const work = new ManualWork();
    const page = outcomeOf(fanOut({ a: optional(work.run, { ...open, timeout: 100 }), other }));
    const { signal } = work.call(0).context;
    await pass(99);
    expect([page.state, signal.aborted]).toEqual(['pending', false]);
    await pass(1);

    expect(page.state).toBe('fulfilled');
    expect(signal.reason).toBeInstanceOf(DOMException);
    expect(signal.reason).toMatchObject({
      name: 'TimeoutError',
      cause: { code: 'TIMEOUT', timeoutMs: 100, policy: 'a' },
    });
  });

  it('is the same when the work answers its signal with the reason', async () => {
    const page = outcomeOf(fanOut({ a: optional(honour, { ...open, timeout: 100 }), other }));
    await pass(100);

    expect(page.value).toMatchObject({ degraded: [{ section: 'a', reason: 'upstream_timeout', waitedMs: 100 }] });
  });

  it('is its own: no other section is aborted by it', async () => {
    const work = new ManualWork();
    void fanOut({
      a: optional(work.run, { ...open, timeout: 10 }),
      b: optional(work.run, { ...open, timeout: 20 }),
      other,
    });
    const signals = work.calls.map(({ context }) => context.signal);
    await pass(10);

    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    await pass(10);
  });

  it('never aborts the signal of a section that has answered: what it returned may still be read', async () => {
    const work = new ManualWork();
    const page = outcomeOf(fanOut({ a: required(work.run), b: required(hang) }, { budget: 50 }));
    const { signal } = work.call(0).context;
    work.call(0).answer();
    await pass(50);

    expect([page.state, signal.aborted]).toEqual(['rejected', false]);
  });

  it('is the deadline of all that the section starts', async () => {
    const work = new ManualWork();
    void fanOut({ a: optional(work.run, { ...open, timeout: 100 }), other });
    await pass(30);

    expect(work.call(0).context.deadline?.remaining()).toBe(70);
    await pass(70);
  });

  it.each([
    [50, { policy: 'a', budgetMs: 50, minRemainingMs: 0 }],
    [150, { policy: 'page', budgetMs: 100, minRemainingMs: 5 }],
  ])('is known by who set it, the section or its answer: %d beside 100 ms', async (timeout, expected) => {
    const a = required(({ deadline }) => deadline, { timeout });
    const { data } = await fanOut({ a }, { name: 'page', budget: 100, minRemaining: 5 });

    expect(data.a).toMatchObject({ ...expected, inherited: false });
  });

  it('is that of the section where the budget ends with it', async () => {
    const fallback = vi.fn((_error: unknown) => 0);
    void fanOut({ a: optional(() => hang<number>(), { timeout: 100, fallback }), other }, { budget: 100 });
    await pass(100);

    expect(fallback).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'TIMEOUT', timeoutMs: 100 }));
  });

  it('is no other than that of its policy, where nothing else limits it', async () => {
    const work = new ManualWork();
    void fanOut({ a: required(work.run, { policy: new TimeoutPolicy(50) }) });

    expect([work.call(0).context.deadline, vi.getTimerCount()]).toEqual([undefined, 1]);
    work.call(0).answer();
    await microtasks();
  });

  it('is how long the answer has waited for it, however late its timer', async () => {
    const page = outcomeOf(fanOut({ a: optional(() => hang(), { ...open, timeout: 100 }), other }));
    vi.setSystemTime(Date.now() + 30);
    await pass(100);

    expect(page.value).toMatchObject({ degraded: [{ reason: 'upstream_timeout', waitedMs: 100 }] });
  });

  it('is over for an answer that comes with it, however the event loop was held', async () => {
    const held = async (): Promise<number> => {
      vi.setSystemTime(Date.now() + 100);
      return 1;
    };
    const late = await fanOut({ a: optional(held, { ...open, timeout: 100 }), other });
    const inTime = await fanOut({ a: optional(held, { ...open, timeout: 101 }), other });

    expect(late.degraded).toEqual([{ section: 'a', reason: 'upstream_timeout', waitedMs: 100 }]);
    expect(inTime.degraded).toEqual([]);
  });

  it('blames nobody for an answer that the event loop has made late', async () => {
    const held = async (): Promise<void> => void vi.setSystemTime(Date.now() + 100);
    const error = await errorOf(fanOut({ a: required(held, { timeout: 100 }) }));
    const breaker = new CircuitBreakerPolicy();
    await errorOf(breaker.execute(() => Promise.reject((error as Error).cause)));

    expect(error).toMatchObject({ reason: 'upstream_timeout', cause: { code: 'TIMEOUT' } });
    expect(breaker.stats.total).toBe(0);
  });

  it('is no matter of a failure: one that comes late is what it is, and teaches a learned limit nothing', async () => {
    const timeout = adaptive({ initial: 100 });
    const record = vi.spyOn(timeout, 'record');
    const heldFor =
      (milliseconds: number): (() => Promise<never>) =>
      async () => {
        vi.setSystemTime(Date.now() + milliseconds);
        throw down;
      };
    const sections = {
      late: optional(heldFor(100), { ...open, timeout }),
      inTime: optional(heldFor(10), { ...open, timeout }),
    };
    const { degraded } = await fanOut(sections, { minimum: 0, concurrency: 1 });

    expect(degraded.map(({ reason }) => reason)).toEqual(['upstream_error', 'upstream_error']);
    expect(record).not.toHaveBeenCalled();
  });

  it('waits for nothing below zero when the clock is set back', async () => {
    const back = (): never => {
      vi.setSystemTime(Date.now() - 5_000);
      throw down;
    };
    const page = await fanOut({ a: optional(back, { ...open, timeout: 100 }), other });

    expect(page.degraded).toEqual([{ section: 'a', reason: 'upstream_error', waitedMs: 0 }]);
  });

  it('follows the dependency where it is learned', async () => {
    const timeout = adaptive({ estimator: 'mean', samples: 1, initial: 1_000, min: 10, max: 2_000, factor: 2 });
    const reviews = optional(() => answerAfter(40, 1), { ...open, timeout });
    const first = outcomeOf(fanOut({ reviews, other }));
    await pass(40);
    expect(first.value).toMatchObject({ partial: false });
    expect(timeout.limitMs).toBe(80);

    const second = outcomeOf(fanOut({ reviews: optional(() => hang<number>(), { ...open, timeout }), other }));
    await pass(80);
    expect(second.value).toMatchObject({ degraded: [{ waitedMs: 80, reason: 'upstream_timeout' }] });
    expect(timeout.limitMs).toBeGreaterThan(80);
  });

  it.each([
    [50, 'cut', 50],
    [51, 'nothing', undefined],
  ])('that waited %i of 100 ms in our own queue teaches a learned limit: %s', async (waitMs, _what, ranMs) => {
    const timeout = adaptive({ initial: 100, shadow: true });
    const cut = vi.spyOn(timeout, 'recordCut');
    const policy = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    void policy.execute(() => answerAfter(waitMs, 1));
    void fanOut({ a: optional(() => hang(), { ...open, timeout, policy }), other });
    await pass(100);

    expect(cut.mock.calls).toEqual(ranMs === undefined ? [] : [[ranMs]]);
  });

  it('teaches a learned limit nothing where the budget has cut it', async () => {
    const timeout = adaptive({ estimator: 'mean', samples: 1, initial: 1_000, min: 10, max: 2_000 });
    void fanOut({ a: optional(() => hang(), { ...open, timeout }), b: required(() => 1) }, { budget: 100 });
    await pass(100);

    expect(timeout.limitMs).toBe(1_000);
  });
});

describe('the policy of a section', () => {
  it.each([
    [1, 2],
    [0, 0],
  ])('is asked for nothing by a section with %d ms left, of %d at least', async (leftMs, minRemaining) => {
    const policy = new OutboundRateLimitPolicy({ limit: 1, interval: '1m' });
    const first = optional(() => hang(), { ...open, timeout: 100 - leftMs });
    const sections = { first, late: optional(() => 1, { ...open, policy }) };
    const page = outcomeOf(fanOut(sections, { budget: 100, minRemaining, minimum: 0, concurrency: 1 }));
    await pass(100 - leftMs);

    expect(page.value).toMatchObject({
      degraded: [{ section: 'first' }, { section: 'late', reason: 'budget_exhausted' }],
    });
    await expect(policy.execute(() => 'has its turn')).resolves.toBe('has its turn');
  });

  it('repeats it, within its limit', async () => {
    const policy = new RetryPolicy({ attempts: 3, backoff: { delay: 10, factor: 1, jitter: 'none' } });
    const attempts: number[] = [];
    const work = ({ attempt }: AttemptContext): Promise<string> => {
      attempts.push(attempt);
      return attempt < 3 ? Promise.reject(down) : Promise.resolve('third');
    };
    const page = outcomeOf(fanOut({ a: required(work, { policy, timeout: 100 }) }));
    await pass(20);

    expect(page.value).toMatchObject({ data: { a: 'third' } });
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('waits for nothing that does not fit: the last real error is the reason', async () => {
    const policy = new RetryPolicy({ attempts: 3, backoff: { delay: 100, factor: 1, jitter: 'none' } });
    const page = await fanOut({ a: optional(() => Promise.reject(down), { ...open, policy, timeout: 100 }), other });

    expect(page.degraded).toEqual([{ section: 'a', reason: 'upstream_error', waitedMs: 0 }]);
  });

  it('says why it refuses', async () => {
    const breaker = new CircuitBreakerPolicy();
    breaker.trip();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const rateLimit = new OutboundRateLimitPolicy({ limit: 1, interval: '1m' });
    const work = new ManualWork();
    void bulkhead.execute(work.run);
    await rateLimit.execute(() => 1);
    const run = vi.fn(() => 1);
    const guarded = (policy: ResiliencePolicy): ReturnType<typeof optional<number, null>> =>
      optional(run, { ...open, policy, timeout: 100 });
    const page = await fanOut({ a: guarded(breaker), b: guarded(bulkhead), c: guarded(rateLimit), other });
    work.call(0).answer();

    expect(page.degraded).toEqual([
      { section: 'a', reason: 'circuit_open', waitedMs: 0 },
      { section: 'b', reason: 'bulkhead_full', waitedMs: 0 },
      { section: 'c', reason: 'rate_limited', waitedMs: 0 },
    ]);
    expect(run).not.toHaveBeenCalled();
  });

  it('blames no upstream for time that went by in its queue', async () => {
    const policy = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    const work = new ManualWork();
    void policy.execute(work.run);
    const run = vi.fn(() => 1);
    const page = outcomeOf(fanOut({ a: optional(run, { ...open, policy, timeout: 100 }), other }));
    await pass(100);
    work.call(0).answer();
    await microtasks();

    expect(page.value).toMatchObject({ degraded: [{ section: 'a', reason: 'budget_exhausted', waitedMs: 100 }] });
    expect(run).not.toHaveBeenCalled();
    expect([policy.active, policy.queued]).toEqual([0, 0]);
  });

  it('gives back what it held when a sibling fails', async () => {
    const policy = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 5 });
    const retry = new RetryPolicy({ attempts: 2, backoff: { delay: 500, jitter: 'none' } });
    const sections = {
      a: required(() => failAfter(10, down)),
      b: optional(honour, { ...open, policy }),
      c: optional(honour, { ...open, policy }),
      d: optional(() => Promise.reject(down), { ...open, policy: retry }),
    };
    await Promise.all([errorOf(fanOut(sections, { budget: '10s' })), pass(10)]);
    await microtasks();

    expect([policy.active, policy.queued, vi.getTimerCount()]).toEqual([0, 0, 0]);
  });

  it('keeps a slot for work that runs on, until it has ended', async () => {
    const policy = new BulkheadPolicy({ maxConcurrent: 1 });
    const work = new ManualWork();
    void fanOut({ a: optional(work.run, { ...open, policy, timeout: 10 }), other });
    await pass(10);
    expect(policy.active).toBe(1);
    work.call(0).answer();
    await microtasks();

    expect(policy.active).toBe(0);
  });

  it.each([
    [50, 1],
    [51, 0],
  ])(
    'counts, in its breaker, the cut by the limit of the section: after %d of 100 ms %d times',
    async (waitMs, failures) => {
      const seen: unknown[] = [];
      const breaker = new CircuitBreakerPolicy({ recordIf: (error) => seen.push(error) > 0 });
      const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
      const occupant = new ManualWork();
      void bulkhead.execute(occupant.run);
      const policy = ResiliencePolicy.wrap(breaker, bulkhead);
      void fanOut({ a: optional(honour, { ...open, policy, timeout: 100 }), other });
      await pass(waitMs);
      occupant.call(0).answer();
      await pass(100 - waitMs);

      expect(breaker.stats).toMatchObject({ total: failures, failures });
      expect(seen).toHaveLength(failures);
      for (const error of seen) expect(error).toMatchObject({ name: 'TimeoutError', cause: { code: 'TIMEOUT' } });
    },
  );

  it('counts, in its breaker, no caller who left and no sibling who failed', async () => {
    const breaker = new CircuitBreakerPolicy();
    const caller = new AbortController();
    const sections = { a: required(() => failAfter(50, down)), b: optional(hang, { ...open, policy: breaker }) };
    void errorOf(fanOut(sections, { budget: 60 }));
    void errorOf(fanOut({ b: optional(hang, { ...open, policy: breaker }) }, { budget: 60, signal: caller.signal }));
    await pass(50);
    caller.abort();
    await microtasks();

    expect(breaker.stats.total).toBe(0);
  });

  it('counts its own timeout as ever', async () => {
    const breaker = new CircuitBreakerPolicy();
    const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(20));
    const page = outcomeOf(fanOut({ a: optional(hang, { ...open, policy }), b: required(() => 1) }, { budget: 100 }));
    await pass(20);

    expect(page.value).toMatchObject({ degraded: [{ section: 'a', reason: 'upstream_timeout', waitedMs: 20 }] });
    expect(breaker.stats.failures).toBe(1);
  });
});

describe('a section that is idempotent', () => {
  it('is repeated once, after the default backoff', async () => {
    const run = vi.fn(() => Promise.reject(down));
    const page = outcomeOf(fanOut({ a: optional(run, { ...open, idempotent: true, timeout: '5s' }), other }));
    await pass(1_000);

    expect(run).toHaveBeenCalledTimes(2);
    expect(page.value).toMatchObject({ degraded: [{ reason: 'upstream_error' }] });
  });

  it('is not repeated when that does not fit, nor when the request is to blame, nor by default', async () => {
    const run = vi.fn(() => Promise.reject(down));
    const refused = vi.fn(() => Promise.reject({ status: 400 }));
    const sections = {
      short: optional(run, { ...open, idempotent: true, timeout: 1 }),
      byDefault: optional(run, { ...open, timeout: '5s' }),
      refused: optional(refused, { ...open, idempotent: true, timeout: '5s' }),
      other,
    };
    await fanOut(sections);

    expect([run.mock.calls.length, refused.mock.calls.length]).toEqual([2, 1]);
  });
});
