import { afterEach, describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import {
  CircuitBreakerPolicy,
  OutboundRateLimitError,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  TimeoutPolicy,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';

useFakeClock();
// Before the fake clock goes: restored later, its timers would be taken for the real ones.
afterEach(() => void vi.restoreAllMocks());

const outage = new Error('outage');

/** Starts calls at once, and writes down after how many milliseconds each one's work began. */
function startsOf(limit: OutboundRateLimitPolicy) {
  const began = Date.now();
  const starts: Record<string, number> = {};
  const call = (name: string, signal?: AbortSignal): Outcome =>
    outcomeOf(limit.execute(() => (starts[name] = Date.now() - began), { signal }));

  return { starts, call };
}

/**
 * Timers that fire when the test says so: those of an event loop that is held until then. Its own time stands still, so
 * that a delay counts from where the hold began.
 */
function holdTimers(): { fireDue: (earlyMs?: number) => void; dueIn: () => number[] } {
  const timers = new Map<number, { readonly at: number; readonly fire: () => void }>();
  let last = 0;
  let loopTime = Date.now();
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: (target: unknown) => void,
    ms: number,
    target: unknown,
  ) => {
    timers.set(++last, { at: loopTime + ms, fire: () => fire(target) });
    return last;
  }) as never);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation(((id: number) => void timers.delete(id)) as never);

  return {
    dueIn: () => [...timers.values()].map(({ at }) => at - Date.now()),
    fireDue: (earlyMs = 0) => {
      loopTime = Date.now();
      const due = [...timers].filter(([, { at }]) => at <= loopTime + earlyMs);
      for (const [id, { fire }] of due.toSorted(([, one], [, other]) => one.at - other.at)) {
        if (timers.delete(id)) fire();
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
    expect(dueIn()).toEqual([10]);
    expect(await errorOf(limit.execute(() => 1))).toMatchObject({ retryAfterMs: 50 });

    // The first token comes at 110 and is taken late: the next one is half there.
    for (const [at, next] of [
      [115, 5],
      [120, 10],
      [130, 10],
    ] as const) {
      vi.setSystemTime(START + at);
      fireDue();
      await microtasks();
      expect(dueIn()).toEqual([next]);
    }
    vi.setSystemTime(START + 140);
    fireDue();
    await microtasks();
    expect(starts).toEqual({ a: 0, b: 0, c: 100, d: 100, e: 115, f: 120, g: 130, h: 140 });
    expect(dueIn()).toEqual([]);
    expect(limit.available).toBe(0);
  });

  it('are given in order too when the delay of the later one ends first, since it was counted from the hold on', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 10, maxWait: 100 });
    const { starts, call } = startsOf(limit);
    const { fireDue } = holdTimers();
    for (const name of ['a', 'b']) call(name);
    vi.setSystemTime(START + 12);
    call('c');
    vi.setSystemTime(START + 30);
    for (const at of [30, 40]) {
      vi.setSystemTime(START + at);
      fireDue();
      await microtasks();
    }

    expect(Object.keys(starts)).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['between two who wait', 40, 120, { b: 40, c: 50, 'at 60': 60, x: 80, y: 90, z: 100, w: 110, last: 120 }],
    [
      'behind both, when it would be late for the second',
      35,
      80,
      { b: 35, c: 45, 'at 60': 60, last: 80, x: 90, y: 100, z: 110, w: 120 },
    ],
  ])(
    'leave to those who come then the first turn that has room for their tokens: %s',
    async (_where, now, end, then) => {
      const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 10, maxWait: 1_000 });
      const { starts, call } = startsOf(limit);
      const { fireDue } = holdTimers();
      const controller = new AbortController();
      for (let turn = 0; turn <= end; turn += 10) {
        const name = { 0: 'a', 10: 'b', 20: 'c', 60: 'at 60', [end]: 'last' }[turn];
        call(name ?? 'given up', name === undefined ? controller.signal : undefined);
      }
      controller.abort();
      await microtasks();

      vi.setSystemTime(START + now);
      for (const name of ['x', 'y', 'z', 'w']) call(name);
      await microtasks();
      for (let at = now + 1; at <= 130; at++) {
        vi.setSystemTime(START + at);
        fireDue();
        await microtasks();
      }

      expect(starts).toEqual({ a: 0, ...then });
    },
  );

  it('have their tokens left aside until they are given, and others are there for those who come', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 20, maxWait: 100 });
    const { starts, call } = startsOf(limit);
    const { fireDue } = holdTimers();
    const controller = new AbortController();
    for (const name of ['a', 'b', 'c']) call(name);
    for (let index = 0; index < 4; index++) call('given up', controller.signal);
    call('at 60');
    controller.abort();
    vi.setSystemTime(START + 35);
    expect(limit.available).toBe(1);
    call('x');
    expect(limit.available).toBe(0);
    await microtasks();
    vi.setSystemTime(START + 60);
    fireDue();
    await microtasks();

    expect(starts).toEqual({ a: 0, b: 0, c: 35, x: 35, 'at 60': 60 });
  });
});

describe('a call that is given up after its turn has come, while the event loop was held', () => {
  it('leaves the timer to the next one, who starts at its own turn', async () => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 10, maxWait: 100 }));
    const controller = new AbortController();
    call('a');
    call('given up', controller.signal);
    call('b');
    vi.setSystemTime(START + 15);
    controller.abort();
    await pass(5);

    expect(starts).toEqual({ a: 0, b: 20 });
  });

  it('leaves its token to the next one if it had that already, who starts at its own turn too', async () => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 2, interval: 20, maxWait: 30 }));
    const { fireDue, dueIn } = holdTimers();
    const controller = new AbortController();
    for (const name of ['a', 'b']) call(name);
    vi.setSystemTime(START + 2);
    call('c');
    call('given up', controller.signal);
    call('d');
    vi.setSystemTime(START + 22);
    fireDue();
    expect(dueIn(), 'until a token comes for the last one').toEqual([10]);

    controller.abort();
    expect(dueIn()).toEqual([8]);
    await microtasks();
    vi.setSystemTime(START + 30);
    fireDue();
    await microtasks();

    expect(starts).toEqual({ a: 0, b: 0, c: 22, d: 30 });
    expect(dueIn()).toEqual([]);
  });
});

describe('a timer that fires a little early', () => {
  it.each([
    ['token is not there', 0, 10],
    ['turn has not come, though a token is there', 1, 20],
  ])('starts nobody whose %s yet, and is set for the rest', async (_what, given, turn) => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 10, maxWait: 100 }));
    const { fireDue, dueIn } = holdTimers();
    const controller = new AbortController();
    call('a');
    for (let index = 0; index < given; index++) call('given up', controller.signal);
    call('b');
    controller.abort();
    vi.setSystemTime(START + turn - 1);
    fireDue(1);
    await microtasks();
    expect(starts).toEqual({ a: 0 });
    expect(dueIn()).toEqual([1]);

    vi.setSystemTime(START + turn);
    fireDue();
    await microtasks();
    expect(starts).toEqual({ a: 0, b: turn });
  });
});

describe('code that holds the event loop while it makes calls', () => {
  it.each([
    [1, 100, 50],
    [5, 1_000, 100],
    [2, 100, 25],
  ])(
    'starts no more of them at once than a full bucket has: %d per %d ms, a call each %d ms',
    async (limit, interval, workMs) => {
      const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit, interval, maxWait: '1h' }));
      const { fireDue } = holdTimers();
      for (let index = 0; index < 20; index++) {
        call(`${index}`);
        vi.setSystemTime(Date.now() + workMs);
      }
      const heldUntil = Date.now() - START;
      await microtasks();
      const startedAfter = (): number => Object.values(starts).filter((at) => at === heldUntil).length;
      fireDue();
      await microtasks();

      expect(startedAfter()).toBeGreaterThan(0);
      expect(startedAfter()).toBeLessThanOrEqual(limit);
    },
  );

  it('gains no token from the time in which a call that has its own cannot start', async () => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1h' }));
    const { fireDue, dueIn } = holdTimers();
    for (const name of ['a', 'b', 'c']) call(name);
    vi.setSystemTime(START + 100);
    call('d');
    vi.setSystemTime(START + 1_000);
    await microtasks();
    fireDue();
    await microtasks();

    expect(starts).toEqual({ a: 0, b: 1_000 });
    expect(dueIn()).toEqual([100]);
  });

  it('gives back the tokens of calls that leave before they can start, and no more than the bucket holds', () => {
    const policy = new OutboundRateLimitPolicy({ limit: 2, interval: 200, maxWait: '1h' });
    const { call } = startsOf(policy);
    const { dueIn } = holdTimers();
    const controller = new AbortController();
    for (const name of ['a', 'b']) call(name);
    for (const name of ['c', 'd']) call(name, controller.signal);
    vi.setSystemTime(START + 1_000);
    call('e', controller.signal);
    expect(policy.available).toBe(0);

    controller.abort();

    expect(policy.available).toBe(2);
    expect(dueIn()).toEqual([]);
    vi.setSystemTime(START + 2_000);
    expect(policy.available).toBe(2);
  });
});

describe('calls that are given up while they wait', () => {
  it('after their turns have come leave a timer only as long as another one waits for its token', async () => {
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
    await microtasks();
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
    ['is for whoever comes at its moment', 100, { first: 0, x: 100, last: 200 }],
    ['is gone then: a call that started later would hold up the next one', 101, { first: 0, last: 200, x: 300 }],
  ])('%s', async (_what, at, expected) => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1s' });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    call('first');
    call('given up', controller.signal);
    call('last');
    controller.abort();
    await pass(at);
    expect(limit.available).toBe(at === 100 ? 1 : 0);
    call('x');
    await pass(300);

    expect(starts).toEqual(expected);
  });

  it('leaves its token to whoever comes later, as long as nobody who waits misses it', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 2_000, maxWait: '10s' });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    for (const name of ['a', 'b']) call(name);
    call('given up', controller.signal);
    call('c');
    controller.abort();
    await pass(1_500);
    expect(limit.available).toBe(1);

    for (const name of ['d', 'e']) call(name);
    expect(limit.available).toBe(0);
    await pass(1_500);

    expect(starts).toEqual({ a: 0, b: 0, d: 1_500, c: 2_000, e: 3_000 });
  });

  it('is not taken any more when its token has been spent on somebody before', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1s' });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    call('first');
    for (let index = 0; index < 2; index++) call(`given up ${index}`, controller.signal);
    call('last');
    controller.abort();
    await pass(150);
    for (const name of ['x', 'y']) call(name);
    await pass(250);

    expect(starts).toEqual({ first: 0, x: 150, last: 300, y: 400 });
  });

  it('makes room together with others, in which every token that comes starts a call', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1s' });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    call('first');
    for (let index = 0; index < 4; index++) call(`given up ${index}`, controller.signal);
    call('last');
    controller.abort();
    await pass(150);
    for (const name of ['u', 'v', 'w', 'x']) call(name);
    await pass(450);

    expect(starts).toEqual({ first: 0, u: 150, v: 250, w: 350, last: 500, x: 600 });
  });

  it('is the first of several that is taken, and the end of the line when none is left', async () => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 10, maxWait: '1s' }));
    const controllers = Array.from({ length: 8 }, () => new AbortController());
    call('first');
    for (const [index, { signal }] of controllers.entries()) call(`at ${index + 1}0`, signal);
    for (const index of [6, 1, 4, 3, 7]) controllers[index]!.abort();
    for (const name of ['v', 'w', 'x', 'y', 'z']) call(name);
    await pass(90);

    expect(starts).toEqual({
      first: 0,
      'at 10': 10,
      v: 20,
      'at 30': 30,
      w: 40,
      x: 50,
      'at 60': 60,
      y: 70,
      z: 80,
    });
  });
});

describe('a call that is given up when its turn has just come', () => {
  const waiting = () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: '1s' });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    call('first');
    call('given up', controller.signal);

    return { limit, starts, call, controller };
  };

  it('does not run, and its token is there again', async () => {
    const { limit, starts, controller } = waiting();
    vi.advanceTimersByTime(100);
    expect(limit.available).toBe(0);
    controller.abort();
    expect(limit.available).toBe(1);
    await microtasks();

    expect(starts).toEqual({ first: 0 });
  });

  it('does not run either when its signal has aborted without telling us', async () => {
    const { limit, starts, controller } = waiting();
    controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
    const hidden = new AbortController();
    hidden.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
    const outcome = outcomeOf(limit.execute(() => (starts.hidden = 1), { signal: hidden.signal }));
    controller.abort();
    hidden.abort('left');
    await pass(200);

    expect(outcome).toEqual({ state: 'rejected', value: 'left' });
    expect(starts).toEqual({ first: 0 });
    expect(limit.available).toBe(1);
  });

  it('does not run either when it is a limit around it that is over, and the bucket is not fuller for it', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 200, maxWait: '1s' });
    const { starts, call } = startsOf(limit);
    for (const name of ['a', 'b', 'c']) call(name);
    const work = vi.fn();
    const over = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(150), limit).execute(work));
    vi.setSystemTime(START + 250);
    vi.advanceTimersByTime(150);
    expect(limit.available).toBe(1);
    await microtasks();

    expect(starts).toEqual({ a: 0, b: 0, c: 400 });
    expect(over.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(work).not.toHaveBeenCalled();
    expect(limit.available).toBe(1);
  });

  it('lets whoever else is due go on with its token at once', async () => {
    const { starts, call, controller } = waiting();
    call('next');
    vi.setSystemTime(START + 250);
    vi.advanceTimersByTime(100);
    controller.abort();
    await microtasks();

    expect(starts).toEqual({ first: 0, next: 350 });
  });
});

describe('the work of a call that has waited', () => {
  it('may call the same limit, make others leave that wait, and throw', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 2, interval: 20, maxWait: '1s' });
    const { starts, call } = startsOf(limit);
    const controller = new AbortController();
    for (const name of ['a', 'b']) call(name);
    const throwing = outcomeOf(
      limit.execute(() => {
        controller.abort();
        call('inner');
        throw outage;
      }),
    );
    const left = call('given up', controller.signal);
    call('last');
    await pass(100);

    expect(throwing).toEqual({ state: 'rejected', value: outage });
    expect(left.state).toBe('rejected');
    expect(starts).toEqual({ a: 0, b: 0, inner: 20, last: 30 });
    expect(limit.available).toBe(2);
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

  it('is refused when a token would come in no time at all', () => {
    expect(() => new OutboundRateLimitPolicy({ limit: 10, interval: Number.MIN_VALUE })).toThrow(
      /^interval: 5e-324ms cannot be shared among 10 calls\. Use '1s'\.$/,
    );
    expect(() => new OutboundRateLimitPolicy({ limit: 1, interval: 0 })).toThrow(/^interval: .*greater than 0/);
    expect(new OutboundRateLimitPolicy({ limit: 1, interval: Number.MIN_VALUE }).available).toBe(1);
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

  it('lets nobody who waits wait for a clock that is set back', async () => {
    const { starts, call } = startsOf(new OutboundRateLimitPolicy({ limit: 1, interval: 100, maxWait: 100 }));
    call('first');
    call('waits');
    vi.setSystemTime(START - 3_600_000);
    await pass(200);

    expect(Object.keys(starts)).toEqual(['first', 'waits']);
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

  it('holds no timer while nobody waits, and one while anybody does', async () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 1_000, maxWait: '3s' });
    const { call } = startsOf(limit);
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    call('first');
    expect(vi.getTimerCount()).toBe(0);
    for (const { signal } of controllers) call('waits', signal);
    expect(vi.getTimerCount()).toBe(1);
    const setTimeout = vi.spyOn(globalThis, 'setTimeout');
    await errorOf(limit.execute(() => 1));
    expect(setTimeout).not.toHaveBeenCalled();

    for (const [index, timers] of [1, 1, 0].entries()) {
      controllers[index]!.abort();
      expect(vi.getTimerCount()).toBe(timers);
    }
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
