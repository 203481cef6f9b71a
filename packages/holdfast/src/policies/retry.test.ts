import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { BulkheadFullError, CircuitOpenError, OutboundRateLimitError, ResilienceTimeoutError } from '../errors.js';
import { ResiliencePolicy } from '../policy.js';
import { DownstreamError, EventRecorder, ScriptedDownstream } from '../testing/index.js';
import { CircuitBreakerPolicy } from './circuit-breaker.js';
import { RetryPolicy, type RetryOptions } from './retry.js';
import { TimeoutPolicy } from './timeout.js';

const STEADY = { delay: 100, factor: 1 } as const;
const down = new Error('down');

/** Fails with the errors given, one per call, then answers. */
function failing(...errors: unknown[]): ReturnType<typeof vi.fn<() => Promise<string>>> {
  const left = [...errors];
  return vi.fn(() => (left.length > 0 ? Promise.reject(left.shift() as Error) : Promise.resolve('answer')));
}

useFakeClock();

describe('how often the work runs', () => {
  it('is three times by default', async () => {
    const policy = new RetryPolicy();
    const work = failing(down, down, down, down);
    const call = outcomeOf(policy.execute(work));
    await vi.runAllTimersAsync();

    expect(policy.attempts).toBe(3);
    expect(call).toEqual({ state: 'rejected', value: down });
    expect(work).toHaveBeenCalledTimes(3);
  });

  it.each([
    [5, 5],
    [1, 1],
    [false, 1],
    [{}, 3],
    [{ attempts: 2 }, 2],
    [{ attempts: undefined }, 3],
    [Infinity, Infinity],
  ] as const)('is given by %j as %d', (options, attempts) => {
    expect(new RetryPolicy(options).attempts).toBe(attempts);
  });

  it('ends with the first success', async () => {
    const work = failing(down);
    const call = outcomeOf(new RetryPolicy({ attempts: 5, backoff: STEADY }).execute(work));
    await vi.runAllTimersAsync();

    expect(call).toEqual({ state: 'fulfilled', value: 'answer' });
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('is once when one attempt is all, without a timer and without an event', async () => {
    const policy = new RetryPolicy({ attempts: 1, retryIf: () => true, retryOnResult: () => true });
    const recorder = new EventRecorder(policy);
    const work = failing(down);
    const call = outcomeOf(policy.execute(work));
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: down });
    expect(vi.getTimerCount()).toBe(0);
    await expect(policy.execute(work)).resolves.toBe('answer');
    expect(recorder.events).toEqual([]);
  });

  it('has no end with an infinite number of attempts, until the signal aborts', async () => {
    const controller = new AbortController();
    const work = failing(...Array.from({ length: 2_000 }, () => down));
    const policy = new RetryPolicy({ attempts: Infinity, backoff: { delay: 10, factor: 1 } });
    const call = outcomeOf(policy.execute(work, { signal: controller.signal }));
    await pass(10_000);

    expect(call.state).toBe('pending');
    expect(work).toHaveBeenCalledTimes(1_001);
    controller.abort('enough');
    await microtasks();
    expect(call).toEqual({ state: 'rejected', value: 'enough' });
  });
});

describe('the wait between attempts', () => {
  it('ends exactly when it is over', async () => {
    const work = failing(down);
    const call = outcomeOf(new RetryPolicy({ backoff: STEADY }).execute(work));
    await pass(99);
    expect(work).toHaveBeenCalledTimes(1);

    await pass(1);
    expect(work).toHaveBeenCalledTimes(2);
    expect(call.state).toBe('fulfilled');
  });

  it('grows from attempt to attempt', async () => {
    const policy = new RetryPolicy({ attempts: 4, backoff: { delay: 100, factor: 2, maxDelay: 300, jitter: 'none' } });
    const recorder = new EventRecorder(policy);
    outcomeOf(policy.execute(failing(down, down, down, down)));
    await vi.runAllTimersAsync();

    expect(recorder.of('retry').map(({ delayMs }) => delayMs)).toEqual([100, 200, 300]);
  });

  it('of nothing still takes a turn of the event loop', async () => {
    const work = failing(down);
    outcomeOf(new RetryPolicy({ backoff: { delay: 0 } }).execute(work));
    await microtasks();
    expect(work).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(1);

    await pass(0);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('may be longer than any timer of the platform', async () => {
    const work = failing(down);
    outcomeOf(new RetryPolicy({ backoff: { delay: '30d', maxDelay: '30d', jitter: 'none' } }).execute(work));
    await pass(2_592_000_000 - 1);
    expect(work).toHaveBeenCalledTimes(1);

    await pass(1);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('is asked of a backoff function only between attempts', async () => {
    const backoff = vi.fn<(failedAttempt: number, error: unknown) => '10ms'>(() => '10ms');
    const second = new Error('still down');
    const call = outcomeOf(new RetryPolicy({ attempts: 3, backoff }).execute(failing(down, second, down)));
    await vi.runAllTimersAsync();

    expect(call.state).toBe('rejected');
    expect(backoff.mock.calls).toEqual([
      [1, down],
      [2, second],
    ]);
  });

  it('is none, and says so, when a backoff function returns a negative number', async () => {
    const policy = new RetryPolicy({ backoff: () => -5 });
    const recorder = new EventRecorder(policy);
    const work = failing(down);
    outcomeOf(policy.execute(work));
    await pass(0);

    expect(work).toHaveBeenCalledTimes(2);
    expect(recorder.of('retry')[0]?.delayMs).toBe(0);
  });

  it('is not made when a backoff function returns no duration, which is the outcome then', async () => {
    const policy = new RetryPolicy({ backoff: () => 'soon' as '1s' });
    const recorder = new EventRecorder(policy);
    const work = failing(down);

    await expect(policy.execute(work)).rejects.toThrow(/^backoff: Invalid duration "soon"/);
    await expect(policy.execute(failing(down))).rejects.toThrow(TypeError);
    expect(work).toHaveBeenCalledTimes(1);
    expect(recorder.events).toEqual([]);
  });

  it('is not made when a backoff function throws, whose error is the outcome then', async () => {
    const flaw = new RangeError('of the backoff');
    const backoff = (): never => {
      throw flaw;
    };
    const work = failing(down);

    await expect(new RetryPolicy({ backoff }).execute(work)).rejects.toBe(flaw);
    expect(work).toHaveBeenCalledTimes(1);
  });
});

describe('what is retried', () => {
  const attemptsFor = async (error: unknown, options: RetryOptions = {}): Promise<number> => {
    const work = vi.fn(() => Promise.reject(error as Error));
    outcomeOf(new RetryPolicy({ backoff: STEADY, ...options }).execute(work));
    await vi.runAllTimersAsync();

    return work.mock.calls.length;
  };

  it.each([down, new DownstreamError(503), new DownstreamError(408), new DownstreamError(429), 'a text', undefined])(
    '%s is',
    async (error) => {
      expect(await attemptsFor(error)).toBe(3);
    },
  );

  it('a timeout is', async () => {
    expect(await attemptsFor(new ResilienceTimeoutError(5, 'timeout'))).toBe(3);
  });

  it.each([new DownstreamError(404), new DownstreamError(422)])('%s is not', async (error) => {
    expect(await attemptsFor(error)).toBe(1);
  });

  it('is decided by retryIf alone when there is one', async () => {
    expect(await attemptsFor(new DownstreamError(404), { retryIf: () => true })).toBe(3);
    expect(await attemptsFor(down, { retryIf: () => false })).toBe(1);
  });

  it('is decided with the error and the number of the attempt that failed', async () => {
    const retryIf = vi.fn<(error: unknown, attempt: number) => boolean>(() => true);
    const second = new Error('still down');
    outcomeOf(new RetryPolicy({ attempts: 3, backoff: STEADY, retryIf }).execute(failing(down, second, down)));
    await vi.runAllTimersAsync();

    expect(retryIf.mock.calls).toEqual([
      [down, 1],
      [second, 2],
    ]);
  });

  it.each([
    new CircuitOpenError('carrier', 5_000),
    new BulkheadFullError('exports', 'full'),
    new BulkheadFullError('exports', 'queue-timeout'),
    new OutboundRateLimitError('partner', 750),
  ])('is never a refusal: %s', async (error) => {
    const retryIf = vi.fn(() => true);

    expect(await attemptsFor(error, { retryIf })).toBe(1);
    expect(retryIf).not.toHaveBeenCalled();
  });

  it('is never a refusal of a policy deep inside the work', async () => {
    const breaker = new CircuitBreakerPolicy();
    breaker.trip();
    const work = vi.fn(async () => {
      await new RetryPolicy(2).execute(() => breaker.execute(() => 'never'));
    });

    await expect(new RetryPolicy(5).execute(work)).rejects.toBeInstanceOf(CircuitOpenError);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('is told by truthiness', async () => {
    expect(await attemptsFor(down, { retryIf: () => 1 as unknown as boolean })).toBe(3);
    expect(await attemptsFor(down, { retryIf: () => 0 as unknown as boolean })).toBe(1);
    expect(await attemptsFor(down, { retryIf: () => undefined as unknown as boolean })).toBe(1);
  });

  it('cannot be decided by a promise, which is the outcome then', async () => {
    const work = failing(down);
    const retryIf = (() => Promise.reject(new Error('nobody waits'))) as unknown as () => boolean;

    await expect(new RetryPolicy({ retryIf }).execute(work)).rejects.toThrow(/^retryIf returned a Promise/);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('cannot be decided by an error of retryIf, which is the outcome then and no failed attempt', async () => {
    const flaw = new RangeError('of the predicate');
    const policy = new RetryPolicy({
      retryIf: () => {
        throw flaw;
      },
    });
    const around = new RetryPolicy({ attempts: 5, backoff: STEADY });
    const work = failing(down);

    await expect(ResiliencePolicy.wrap(around, policy).execute(work)).rejects.toBe(flaw);
    expect(work).toHaveBeenCalledTimes(1);
  });
});

describe('the work of an attempt', () => {
  it('may answer and fail without a promise', async () => {
    const work = vi.fn(() => {
      if (work.mock.calls.length === 1) throw down;
      return 'answer';
    });
    const call = outcomeOf(new RetryPolicy({ backoff: STEADY }).execute(work));
    await vi.runAllTimersAsync();

    expect(call).toEqual({ state: 'fulfilled', value: 'answer' });
  });

  it('may be any thenable', async () => {
    const thenable = { then: (resolve: (value: string) => void) => resolve('answer') };

    await expect(new RetryPolicy(2).execute(() => thenable as PromiseLike<string>)).resolves.toBe('answer');
  });

  it('is told its number', async () => {
    const downstream = new ScriptedDownstream([{ fail: 503 }, { fail: 503 }, { answer: 'ok' }]);
    outcomeOf(new RetryPolicy({ backoff: STEADY }).execute(downstream.call));
    await vi.runAllTimersAsync();

    expect(downstream.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it('has a signal of its own in each attempt, which nothing aborts once it is over', async () => {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const work = ({ signal }: { signal: AbortSignal }): Promise<string> => {
      signals.push(signal);
      return signals.length < 3 ? Promise.reject(down) : Promise.resolve('answer');
    };
    const call = outcomeOf(new RetryPolicy({ backoff: STEADY }).execute(work, { signal: controller.signal }));
    await vi.runAllTimersAsync();
    controller.abort();

    expect(call.state).toBe('fulfilled');
    expect(new Set([...signals, controller.signal]).size).toBe(4);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });

  it('is not shared between calls of one policy', async () => {
    const policy = new RetryPolicy({ attempts: 2, backoff: STEADY });
    const [first, second] = [failing(down), failing(down, down)];
    const calls = [outcomeOf(policy.execute(first)), outcomeOf(policy.execute(second))];
    await vi.runAllTimersAsync();

    expect(calls.map(({ state }) => state)).toEqual(['fulfilled', 'rejected']);
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([2, 2]);
  });
});

describe('nested retries', () => {
  it('each count their own attempts', async () => {
    const inner = new RetryPolicy({ name: 'inner', attempts: 2, backoff: STEADY });
    const outer = new RetryPolicy({ name: 'outer', attempts: 2, backoff: STEADY });
    const policy = ResiliencePolicy.wrap(outer, inner);
    const recorder = new EventRecorder(policy);
    const downstream = new ScriptedDownstream([{ fail: 503 }]);
    const call = outcomeOf(policy.execute(downstream.call));
    await vi.runAllTimersAsync();

    expect(call.state).toBe('rejected');
    expect(downstream.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2]);
    expect(recorder.of('retry').map((event) => [event.policy, event.attempt])).toEqual([
      ['inner', 1],
      ['outer', 1],
      ['inner', 1],
    ]);
  });

  it('start over when a limit around the inner one is over', async () => {
    const inner = new RetryPolicy({ attempts: Infinity, backoff: STEADY });
    const outer = new RetryPolicy({ attempts: 2, backoff: STEADY });
    const downstream = new ScriptedDownstream([{ fail: 503 }]);
    const call = outcomeOf(ResiliencePolicy.wrap(outer, new TimeoutPolicy(250), inner).execute(downstream.call));
    await pass(600);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(downstream.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1, 2, 3]);
  });
});
