import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { CircuitBreakerPolicy, OutboundRateLimitError, OutboundRateLimitPolicy, ResiliencePolicy } from '../index.js';
import { EventRecorder } from '../testing/index.js';

useFakeClock();

const outage = new Error('outage');

/** Starts calls at once, and writes down after how many milliseconds each one's work began. */
function startsOf(limit: OutboundRateLimitPolicy) {
  const began = Date.now();
  const starts: Record<string, number> = {};
  const call = (name: string, signal?: AbortSignal): Outcome =>
    outcomeOf(limit.execute(() => (starts[name] = Date.now() - began), { signal }));

  return { starts, call };
}

/** Timers that fire when the test says so: those of an event loop that is held until then. */
function holdTimers(): { fireDue: () => void; dueIn: () => number[] } {
  const timers = new Map<number, { readonly at: number; readonly fire: () => void }>();
  let last = 0;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: (target: unknown) => void,
    ms: number,
    target: unknown,
  ) => {
    timers.set(++last, { at: Date.now() + ms, fire: () => fire(target) });
    return last;
  }) as never);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation(((id: number) => void timers.delete(id)) as never);

  return {
    dueIn: () => [...timers.values()].map(({ at }) => at - Date.now()),
    fireDue: () => {
      for (const [id, { at, fire }] of timers) {
        if (at > Date.now() || !timers.delete(id)) continue;
        fire();
      }
    },
  };
}

describe('turns that have all come while the event loop was held', () => {
  it('are given in order, as there are tokens, and calls that come then wait behind them', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 20, maxWait: 40 });
    const { starts, call } = startsOf(limit);
    const { fireDue, dueIn } = holdTimers();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) call(name);
    await microtasks();
    expect(starts).toEqual({ a: 0, b: 0 });
    vi.setSystemTime(START + 100);
    fireDue();
    await microtasks();

    expect(starts).toEqual({ a: 0, b: 0, c: 100, d: 100 });
    expect(dueIn()).toEqual([10]);
    for (const name of ['g', 'h']) call(name);
    expect(dueIn()).toEqual([10, 30, 40]);
    expect(await errorOf(limit.execute(() => 1))).toMatchObject({ retryAfterMs: 50 });

    // The first token comes at 110 and is taken late: the next one is half there.
    for (const at of [115, 120, 130, 140]) {
      vi.setSystemTime(START + at);
      fireDue();
      await microtasks();
    }
    expect(starts).toEqual({ a: 0, b: 0, c: 100, d: 100, e: 115, f: 120, g: 130, h: 140 });
    expect(dueIn()).toEqual([]);
    expect(limit.available).toBe(0);
  });
});

describe('calls that are given up while they wait', () => {
  it('after their turns have come at once leave a timer only as long as another one waits for its token', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 10, maxWait: 30 });
    const { starts, call } = startsOf(limit);
    const { fireDue, dueIn } = holdTimers();
    const controllers = [new AbortController(), new AbortController()];
    for (const name of ['a', 'b']) call(name);
    controllers.forEach(({ signal }, index) => call(`given up ${index}`, signal));
    vi.setSystemTime(START + 100);
    fireDue();
    expect(dueIn()).toEqual([10]);

    controllers[0]!.abort();
    expect(dueIn()).toEqual([10]);
    controllers[1]!.abort();
    expect(dueIn()).toEqual([]);
    expect(starts).toEqual({ a: 0, b: 100 });
  });

  it('leave their turns in order, whoever of them leaves first', async () => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1s' }));
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    call('first');
    controllers.forEach(({ signal }, index) => call(`given up ${index}`, signal));
    call('last');
    for (const controller of controllers.toReversed()) controller.abort();
    for (const name of ['x', 'y', 'z']) call(name);
    await pass(400);

    expect(starts).toEqual({ first: 0, x: 100, y: 200, z: 300, last: 400 });
  });
});

describe('a turn that was given back', () => {
  it.each([
    ['is for whoever comes before its moment', 99, { first: 0, x: 100, last: 200 }],
    [
      'is gone at its moment: a call that took it a millisecond later would hold up the next one',
      100,
      { first: 0, last: 200, x: 300 },
    ],
  ])('%s', async (_what, at, expected) => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1s' }));
    const controller = new AbortController();
    call('first');
    call('given up', controller.signal);
    call('last');
    controller.abort();
    await pass(at);
    call('x');
    await pass(300);

    expect(starts).toEqual(expected);
  });
});

describe('an outbound rate limit', () => {
  it('starts full and refuses what is above its limit, with the wait that would have helped', async () => {
    const limit = new OutboundRateLimitPolicy({ name: 'partner', limit: 3, interval: '1s' });
    const recorder = new EventRecorder(limit);
    expect(limit.available).toBe(3);
    for (const left of [2, 1, 0]) {
      expect(await limit.execute(() => 'answer')).toBe('answer');
      expect(limit.available).toBe(left);
    }

    const error = await errorOf(limit.execute(() => 'answer', { source: 'fourth' }));

    expect(error).toBeInstanceOf(OutboundRateLimitError);
    expect(error).toMatchObject({
      code: 'RATE_LIMITED',
      policy: 'partner',
      retryAfterMs: 334,
      message: 'Outbound rate limit "partner" exceeded',
    });
    expect((error as Error).stack ?? '').not.toContain('\n    at ');
    expect(recorder.events).toStrictEqual([
      { type: 'rate-limited', policy: 'partner', source: 'fourth', retryAfterMs: 334 },
    ]);
    expect(new OutboundRateLimitPolicy({ limit: 1, interval: 1 }).name).toBe('outbound-rate-limit');
  });

  it('is refilled evenly, token by token, up to its limit', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 4, interval: 1_000 });
    await Promise.all(Array.from({ length: 4 }, () => limit.execute(() => 1)));

    for (const tokens of [1, 2, 3, 4]) {
      await pass(249);
      expect(limit.available).toBe(tokens - 1);
      await pass(1);
      expect(limit.available).toBe(tokens);
    }
    await pass(60_000);
    expect(limit.available).toBe(4);
  });

  it.each([
    [1, 1_000, 1_000],
    [3, 1_000, 334],
    [7, 1_000, 143],
    [1, 3_600_000, 3_600_000],
    [1, 30 * 86_400_000, 30 * 86_400_000],
    [5, 7 * 86_400_000, 120_960_000],
    [1_000_000, 1_000, 1],
    [1_000, 30 * 86_400_000, 2_592_000],
  ])('of %d per %d ms has its next token after exactly %d ms', async (limit, interval, wait) => {
    const policy = new OutboundRateLimitPolicy({ limit, interval });
    for (let call = 0; call < limit; call++) void policy.execute(() => 1);

    expect(await errorOf(policy.execute(() => 1))).toMatchObject({ retryAfterMs: wait });
    await pass(wait - 1);
    expect(policy.available).toBe(0);
    expect(await errorOf(policy.execute(() => 1))).toMatchObject({ retryAfterMs: 1 });
    await pass(1);
    expect(await policy.execute(() => 'next')).toBe('next');
  });

  it('loses nothing to rounding either when a token takes many of them', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 10_000, interval: 1e10 });
    for (let call = 0; call < 10_000; call++) void limit.execute(() => 1);

    for (let tenth = 1; tenth <= 10; tenth++) {
      expect(limit.available).toBe(0);
      await pass(1e5);
    }
    expect(limit.available).toBe(1);
  });

  it('loses nothing to rounding over many small steps of time', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 3, interval: 1_000 });
    for (let call = 0; call < 3; call++) void limit.execute(() => 1);
    for (let step = 0; step < 999; step++) {
      await pass(1);
      void limit.available;
    }
    expect(limit.available).toBe(2);

    await pass(1);

    expect(limit.available).toBe(3);
  });

  it('neither gains nor loses a token when the clock is set back', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 1_000 });
    await limit.execute(() => 1);

    vi.setSystemTime(START - 3_600_000);

    expect(limit.available).toBe(1);
    await pass(500);
    expect(limit.available).toBe(2);
  });

  it('never refunds a token: not for a failure, and not for a refusal from further inside', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 3, interval: 1_000 });
    await errorOf(limit.execute(() => Promise.reject(outage)));
    const inner = new CircuitBreakerPolicy();
    inner.trip();
    await errorOf(ResiliencePolicy.wrap(limit, inner).execute(() => 1));
    const controller = new AbortController();
    const aborted = outcomeOf(limit.execute(() => new Promise(() => {}), { signal: controller.signal }));
    controller.abort();
    await microtasks();

    expect(aborted.state).toBe('rejected');
    expect(limit.available).toBe(0);
  });

  it('takes no token for a call whose signal had aborted before', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 1_000 });

    await errorOf(limit.execute(() => 1, { signal: AbortSignal.abort() }));

    expect(limit.available).toBe(1);
  });

  it('is independent of another one made from the same frozen options', async () => {
    const options = Object.freeze({ limit: 1, interval: 1_000 });
    const [one, other] = [new OutboundRateLimitPolicy(options), new OutboundRateLimitPolicy(options)];

    await one.execute(() => 1);

    expect([one.available, other.available]).toEqual([0, 1]);
  });

  it('holds no timer while nobody waits', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 1_000 });
    await limit.execute(() => 1);
    await errorOf(limit.execute(() => 1));

    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a call that waits for a token', () => {
  it('has reserved it, so that each one waits for those ahead of it too, without an event', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 4, interval: 1_000, maxWait: '10s' });
    const recorder = new EventRecorder(limit);
    const { starts, call } = startsOf(limit);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) call(name);
    expect(limit.available).toBe(0);

    await pass(750);

    expect(starts).toEqual({ a: 0, b: 0, c: 0, d: 0, e: 250, f: 500, g: 750 });
    expect(recorder.events).toEqual([]);
  });

  it('is refused when it would wait longer than maxWait, with that wait', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 4, interval: 1_000, maxWait: 500 });
    const { starts, call } = startsOf(limit);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) call(name);

    expect(await errorOf(limit.execute(() => 1))).toMatchObject({ retryAfterMs: 750 });
    expect(await errorOf(limit.execute(() => 1))).toMatchObject({ retryAfterMs: 750 });

    await pass(500);
    expect(starts).toMatchObject({ e: 250, f: 500 });
  });

  it('starts at exactly its moment', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 100 });
    const { starts, call } = startsOf(limit);
    call('first');
    call('second');

    await pass(99);
    expect(starts).toEqual({ first: 0 });
    await pass(1);
    expect(starts).toEqual({ first: 0, second: 100 });
  });

  it('may wait for longer than the longest timer', async () => {
    const days = 86_400_000;
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: '30d', maxWait: '30d' });
    const { starts, call } = startsOf(limit);
    call('first');
    call('second');

    await pass(30 * days - 1);
    expect(starts).toEqual({ first: 0 });
    await pass(1);
    expect(starts.second).toBe(30 * days);
  });

  it('leaves at once when its caller aborts, without a run, a timer or a listener', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 1_000, maxWait: 5_000 });
    const { starts, call } = startsOf(limit);
    call('first');
    const reason = new Error('left');
    const controller = new WatchedController();
    const waiting = call('waiting', controller.signal);
    await pass(300);

    controller.abort(reason);
    await microtasks();

    expect(waiting.value).toBe(reason);
    expect(controller.listeners).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    await pass(700);
    expect(starts).toEqual({ first: 0 });
    expect(limit.available).toBe(1);
  });

  it('that left makes room for a later one, while those behind it keep their moment', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 1_000 });
    const { starts, call } = startsOf(limit);
    const controller = new WatchedController();
    call('first');
    call('leaves', controller.signal);
    call('third');
    await pass(10);
    controller.abort();

    call('later');
    await pass(190);

    expect(starts).toEqual({ first: 0, later: 100, third: 200 });
    expect(limit.available).toBe(0);
    await pass(100);
    expect(limit.available).toBe(1);
  });

  it('that left in a crowd does not let the others start together', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 100_000 });
    const { starts, call } = startsOf(limit);
    const controllers = Array.from({ length: 20 }, () => new AbortController());
    call('first');
    controllers.forEach((controller, index) => call(`early ${index}`, controller.signal));
    for (const controller of controllers.slice(0, 10)) controller.abort();
    for (let index = 0; index < 15; index++) call(`late ${index}`);

    await pass(2_500);

    const moments = Object.values(starts).sort((a, b) => a - b);
    expect(moments).toEqual(Array.from({ length: 26 }, (_, index) => index * 100));
    for (let index = 0; index < 10; index++) expect(starts[`late ${index}`]).toBe((index + 1) * 100);
    for (let index = 10; index < 20; index++) expect(starts[`early ${index}`]).toBe((index + 1) * 100);
  });

  it('that left leaves a turn that is not taken twice, and not later either', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 1_000 });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    call('first');
    call('leaves', controller.signal);
    call('third');
    controller.abort();
    await pass(150);

    call('later');
    await pass(150);

    expect(starts).toEqual({ first: 0, third: 200, later: 300 });
  });

  it('that left with a whole crowd leaves their tokens to those who come when nobody waits any more', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 10, interval: 1_000, maxWait: 1_000 });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    for (let index = 0; index < 10; index++) call(`first ${index}`);
    for (let index = 0; index < 9; index++) call(`leaves ${index}`, controller.signal);
    call('stays');
    controller.abort();
    expect(limit.available).toBe(0);

    await pass(1_000);

    expect(starts.stays).toBe(1_000);
    expect(limit.available).toBe(9);
  });

  it('that left gives its token back when its moment comes, and not before', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 200, maxWait: 1_000 });
    const { call } = startsOf(limit);
    const controller = new AbortController();
    call('first');
    call('second');
    call('leaves', controller.signal);
    controller.abort();

    await pass(99);
    expect(limit.available).toBe(0);
    await pass(1);
    expect(limit.available).toBe(1);
    await pass(100);
    expect(limit.available).toBe(2);
  });
});
