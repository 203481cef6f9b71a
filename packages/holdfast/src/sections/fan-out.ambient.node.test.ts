import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { answerAfter, hang } from '../../test/section-work.js';
import { WatchedController } from '../../test/watched-signal.js';
import { WireBudget } from '../../test/wire-budget.js';
import { BudgetPolicy, BulkheadPolicy, CircuitBreakerPolicy, ResiliencePolicy, TimeoutPolicy } from '../index.js';
import { currentScope, runInScope } from '../scope.js';
import { collect, type SectionCollector } from './collect.js';
import { fanOut, type FanOutOptions } from './fan-out.js';
import { optional, required } from './section.js';

// What sections inherit from the attempt around them, which takes a host that carries it.

useFakeClock();

const open = { fallback: null } as const;
const good = required(() => 1);
const page = (options?: FanOutOptions): Promise<unknown> =>
  fanOut({ slow: optional(() => hang<number>(), open), good }, options);

describe('a hanging dependency of an answer that is begun late in the limit around', () => {
  it.each([
    [490, 'open'],
    [491, 'closed'],
    [900, 'closed'],
  ])('has failed when it has had half of that limit: begun after %d of 980 ms', async (begunAfter, state) => {
    const policy = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const begin = async (): Promise<unknown> => {
      await answerAfter(begunAfter, 'elsewhere');
      return fanOut({ slow: optional(hang, { ...open, policy }), good }, { margin: 20 });
    };
    const around = [
      new TimeoutPolicy(1_000).execute(begin),
      new BudgetPolicy(1_000).execute(begin),
      fanOut({ nested: required(begin, { timeout: 1_000 }) }),
    ];
    await pass(1_000);

    await expect(Promise.allSettled(around)).resolves.toMatchObject(Array(3).fill({ status: 'fulfilled' }));
    expect(policy.state).toBe(state);
  });

  it('has failed when it has had half of what a reserve leaves', async () => {
    const policy = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const slow = optional(() => policy.execute(hang), open);
    const answer = outcomeOf(fanOut({ slow, good }, { budget: 1_000, reserve: 800 }));
    await pass(200);

    expect(answer.state).toBe('fulfilled');
    expect(policy.state).toBe('open');
  });
});

describe('an answer inside of a limit', () => {
  it.each<[string, number, FanOutOptions, number]>([
    ['20 ms before it', 1_000, {}, 980],
    ['as long before it as asked for', 1_000, { margin: '50ms' }, 950],
    ['a tenth before it at most', 100, {}, 90],
    ['a tenth before it at most, whatever is asked for', 1_000, { margin: '500ms' }, 900],
    ['by its own budget when that comes first', 1_000, { budget: 500 }, 500],
    ['before the limit when its own budget comes later', 1_000, { budget: 990 }, 980],
  ])('is there %s', async (_when, limit, options, expected) => {
    const calls = [
      ResiliencePolicy.wrap().execute(() => page(options), { budget: limit }),
      new BudgetPolicy({ budget: limit }).execute(() => page(options)),
      new TimeoutPolicy(limit).execute(() => page(options)),
      fanOut({ nested: required(() => page(options), { timeout: limit }) }).then(({ data }) => data.nested),
    ].map(outcomeOf);

    await pass(expected - 1);
    expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'pending'));
    await pass(1);
    for (const { value } of calls) {
      expect(value).toMatchObject({
        partial: true,
        data: { slow: null, good: 1 },
        degraded: [{ section: 'slow', reason: 'upstream_timeout', waitedMs: expected }],
      });
    }
  });

  it('counts what was left when it was begun', async () => {
    const call = outcomeOf(
      new TimeoutPolicy(1_000).execute(async () => {
        await answerAfter(900, undefined);
        return page();
      }),
    );

    await pass(989);
    expect(call.state).toBe('pending');
    await pass(1);
    expect(call.value).toMatchObject({ degraded: [{ waitedMs: 90 }] });
  });

  it('starts no section once nothing is left, or less than the deadline around asks for', async () => {
    const run = vi.fn(() => 1);
    const call = outcomeOf(
      new BudgetPolicy({ budget: 1_000, minRemaining: 100 }).execute(async () => {
        await answerAfter(890, undefined);
        return fanOut({ a: optional(run, open) }, { minimum: 0 });
      }),
    );
    await pass(890);

    expect(call.value).toMatchObject({ degraded: [{ section: 'a', reason: 'budget_exhausted', waitedMs: 0 }] });
    expect(run).not.toHaveBeenCalled();
  });

  it('needs no other limit, and one where there is no end around', async () => {
    await expect(new TimeoutPolicy(100).execute(() => fanOut({ good }))).resolves.toMatchObject({ data: { good: 1 } });
    await expect(new BulkheadPolicy().execute(() => fanOut({ good }))).rejects.toThrow(
      /^good\.timeout: nothing would ever/,
    );
    await expect(new TimeoutPolicy(100).execute(() => fanOut({ good }, { detached: true }))).rejects.toThrow(
      /^good\.timeout: nothing would ever/,
    );
  });

  it('ends with the reason of the attempt around, when that is given up', async () => {
    const caller = new WatchedController();
    const left = new Error('left');
    const work = new ManualWork();
    let inner: Outcome | undefined;
    const call = outcomeOf(
      new TimeoutPolicy(1_000).execute(() => (inner = outcomeOf(fanOut({ a: optional(work.run, open) }))) && hang(), {
        signal: caller.signal,
      }),
    );
    const { signal } = work.call(0).context;
    caller.abort(left);
    await microtasks();

    expect([call.value, inner?.value, signal.reason]).toEqual([left, left, left]);
    expect([caller.listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('ends so as well when that is given up between two sections, where none runs that would hear of it', async () => {
    const caller = new WatchedController();
    const left = new Error('left');
    const run = vi.fn(() => 1);
    const fallback = (): null => {
      caller.abort(left);
      return null;
    };
    let inner: Outcome | undefined;
    const sections = { a: optional(() => Promise.reject(new Error('down')), { fallback }), b: optional(run, open) };
    void errorOf(
      new TimeoutPolicy(1_000).execute(() => (inner = outcomeOf(fanOut(sections, { concurrency: 1 }))) && hang(), {
        signal: caller.signal,
      }),
    );
    await microtasks();

    expect(inner?.value).toBe(left);
    expect(run).not.toHaveBeenCalled();
  });

  it('outlives it when it is detached', async () => {
    let inner: Outcome | undefined;
    const call = outcomeOf(
      new TimeoutPolicy(100).execute(() => (inner = outcomeOf(page({ detached: true, budget: 200 }))) && hang()),
    );
    await pass(100);
    expect([call.state, inner?.state]).toEqual(['rejected', 'pending']);
    await pass(100);

    expect(inner?.value).toMatchObject({ degraded: [{ section: 'slow', waitedMs: 200 }] });
  });

  it('follows the attempt around no longer than it lasts: a thousand leave nothing', async () => {
    const around = new WatchedController();
    await runInScope({ signal: around.signal }, async () => {
      const pages = Array.from({ length: 1_000 }, () => fanOut({ good: required(async () => 1) }, { budget: 10 }));
      expect(around.listeners).toBe(1);
      await Promise.all(pages);
      await microtasks();

      expect([around.listeners, vi.getTimerCount()]).toEqual([0, 0]);
    });
  });
});

describe('a step of collect()', () => {
  it('ends with the reason of the attempt that it is used in, which need not be that of its answer', async () => {
    const left = new Error('left');
    const parts = collect({ budget: 1_000 });
    const run = vi.fn(() => 1);
    const step = runInScope({ signal: AbortSignal.abort(left) }, () => parts.optional('flags', run, open));

    await expect(errorOf(step)).resolves.toBe(left);
    expect(run).not.toHaveBeenCalled();
  });
});

describe('a step of collect() once the attempt of its answer has been given up', () => {
  it('is neither begun nor listed, wherever it is used', async () => {
    const caller = new WatchedController();
    const left = new Error('left');
    const run = vi.fn(() => 1);
    const parts: SectionCollector[] = [];
    const call = outcomeOf(
      new TimeoutPolicy(1_000).execute(() => parts.push(collect({ budget: 500 })) && hang(), { signal: caller.signal }),
    );
    caller.abort(left);
    await microtasks();

    await expect(errorOf((parts[0] as SectionCollector).optional('late', run, open))).resolves.toBe(left);
    expect(call.value).toBe(left);
    expect(run).not.toHaveBeenCalled();
    expect(parts[0]?.degraded).toEqual([]);
  });
});

describe('what a section is cut by', () => {
  const section = (policy: ResiliencePolicy): Promise<unknown> =>
    fanOut({ a: optional(() => hang(), { ...open, policy, timeout: '1m' }), good });

  it('counts in the breaker of its policy when it was set here', async () => {
    const breaker = new CircuitBreakerPolicy();
    void new TimeoutPolicy(100).execute(() => section(breaker));
    await pass(100);

    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
  });

  it('counts nowhere when a caller set it on the other side of the wire', async () => {
    const breaker = new CircuitBreakerPolicy();
    const inside = new CircuitBreakerPolicy();
    const call = outcomeOf(
      new WireBudget({ budget: 100 }).execute(() =>
        Promise.all([section(breaker), fanOut({ b: optional(() => inside.execute(hang), open), good })]),
      ),
    );
    await pass(90);

    expect(call.value).toMatchObject([{ partial: true }, { partial: true }]);
    expect([breaker.stats.total, inside.stats.total]).toEqual([0, 0]);
  });

  it('is a deadline of a caller on the other side of the wire, unless the section has set it', async () => {
    const call = new WireBudget({ budget: 100 }).execute(() =>
      fanOut({
        theirs: required(({ deadline }) => deadline),
        ours: required(({ deadline }) => deadline, { timeout: 50 }),
      }),
    );

    await expect(call).resolves.toMatchObject({ data: { theirs: { inherited: true }, ours: { inherited: false } } });
  });

  it('counts when it was set here, and comes before that of the caller', async () => {
    const breaker = new CircuitBreakerPolicy();
    const inside = new CircuitBreakerPolicy();
    const call = outcomeOf(
      new WireBudget({ budget: 1_000 }).execute(() =>
        new TimeoutPolicy(100).execute(() =>
          Promise.all([section(breaker), fanOut({ b: optional(() => inside.execute(hang), open), good })]),
        ),
      ),
    );
    await pass(90);

    expect(call.value).toMatchObject([{ partial: true }, { partial: true }]);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
    expect(inside.stats).toMatchObject({ total: 1, failures: 1 });
  });

  it('counts in a breaker that is used inside of the section', async () => {
    const breaker = new CircuitBreakerPolicy();
    void fanOut({
      a: optional(() => breaker.execute(hang), { ...open, timeout: 100 }),
      b: required(() => 1, { timeout: 1 }),
    });
    await pass(100);

    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
  });
});

describe("the caller's async context", () => {
  const request = new AsyncLocalStorage<string>();

  it('is that of its sections, also of those that start in the wake of another caller’s', async () => {
    const seen: unknown[] = [];
    const policy = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 10 });
    const work = new ManualWork();
    const see = (): void => void seen.push(request.getStore());
    const pages = ['Ada', 'Grace'].map((name) =>
      request.run(name, () => {
        const first = required(work.run, { policy });
        const queued = required(see, { policy });
        return fanOut({ first, queued, next: required(see, { after: { first } }) }, { budget: 1_000, concurrency: 2 });
      }),
    );
    request.run('somebody else', () => work.call(0).answer());
    await microtasks();
    request.run('somebody else', () => work.call(1).answer());
    await Promise.all(pages);

    expect(seen.toSorted()).toEqual(['Ada', 'Ada', 'Grace', 'Grace']);
  });

  it('has the attempt of the caller around sections that had to wait, and not that of another section', async () => {
    const outer: unknown[] = [];
    await new TimeoutPolicy(100).execute(async () => {
      const around = currentScope();
      const first = required(() => Promise.resolve(1));
      const look = (): void => void outer.push(currentScope()?.outer === around);
      const sections = { first, queued: required(look), next: required(look, { after: { first } }) };
      await fanOut(sections, { concurrency: 1 });
    });

    expect(outer).toEqual([true, true]);
  });
});
