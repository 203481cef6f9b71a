import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { outcomeOf } from '../../test/outcome.js';
import { EventRecorder } from '../testing/index.js';
import { RetryPolicy, type RetryOptions } from './retry.js';

const STEADY = { delay: 100, factor: 1 } as const;
const down = new Error('down');

useFakeClock();

const counting = (): ReturnType<typeof vi.fn<() => number>> => {
  let calls = 0;
  return vi.fn(() => ++calls);
};

describe('a result that is not good enough', () => {
  it('is retried, and the first good one is the outcome', async () => {
    const work = counting();
    const policy = new RetryPolicy({ attempts: 5, backoff: STEADY, retryOnResult: (result) => (result as number) < 3 });
    const call = outcomeOf(policy.execute(work));
    await pass(199);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call).toEqual({ state: 'fulfilled', value: 3 });
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('is the outcome when it is that of the last attempt, about which nobody is asked', async () => {
    const retryOnResult = vi.fn<(result: unknown, attempt: number) => boolean>(() => true);
    const call = outcomeOf(new RetryPolicy({ backoff: STEADY, retryOnResult }).execute(counting()));
    await pass(1_000);

    expect(call).toEqual({ state: 'fulfilled', value: 3 });
    expect(retryOnResult.mock.calls).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it.each([
    [[true, true, true], 4],
    [[false], 1],
    [[true, false], 2],
  ])('for answers of %j makes %d calls', async (answers, calls) => {
    const left = [...answers];
    const work = counting();
    const policy = new RetryPolicy({ attempts: 10, backoff: STEADY, retryOnResult: () => left.shift() ?? false });
    outcomeOf(policy.execute(work));
    await pass(10_000);

    expect(work).toHaveBeenCalledTimes(calls);
  });

  it('appears in the event, and to a backoff function, as no error', async () => {
    const backoff = vi.fn<(failedAttempt: number, error: unknown) => number>(() => 10);
    const policy = new RetryPolicy({ attempts: 2, backoff, retryOnResult: () => true });
    const recorder = new EventRecorder(policy);
    outcomeOf(policy.execute(counting()));
    await pass(10);

    expect(backoff.mock.calls).toEqual([[1, undefined]]);
    expect(recorder.events).toEqual([
      { type: 'retry', policy: 'retry', source: undefined, attempt: 1, delayMs: 10, error: undefined },
    ]);
  });

  it('does not decide about errors, nor retryIf about results', async () => {
    const retryIf = vi.fn(() => true);
    const retryOnResult = vi.fn(() => true);
    const policy = (options: RetryOptions): RetryPolicy =>
      new RetryPolicy({ attempts: 2, backoff: STEADY, ...options });
    outcomeOf(policy({ retryIf }).execute(counting()));
    outcomeOf(policy({ retryOnResult }).execute(() => Promise.reject(down)));
    await pass(1_000);

    expect(retryIf).not.toHaveBeenCalled();
    expect(retryOnResult).not.toHaveBeenCalled();
  });

  it('counts with failed attempts towards the same limit', async () => {
    const work = vi.fn(() => {
      if (work.mock.calls.length === 1) throw down;
      return work.mock.calls.length;
    });
    const call = outcomeOf(new RetryPolicy({ attempts: 3, backoff: STEADY, retryOnResult: () => true }).execute(work));
    await pass(1_000);

    expect(call).toEqual({ state: 'fulfilled', value: 3 });
  });

  it('cannot be told by a promise, which is the outcome then', async () => {
    const work = counting();
    const retryOnResult = (() => Promise.reject(down)) as unknown as () => boolean;

    await expect(new RetryPolicy({ retryOnResult }).execute(work)).rejects.toThrow(/^retryOnResult returned a Promise/);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('cannot be told by an error of retryOnResult, which is the outcome then', async () => {
    const flaw = new RangeError('of the predicate');
    const retryIf = vi.fn(() => true);
    const work = counting();
    const retryOnResult = (): never => {
      throw flaw;
    };

    await expect(new RetryPolicy({ retryIf, retryOnResult }).execute(work)).rejects.toBe(flaw);
    expect(work).toHaveBeenCalledTimes(1);
    expect(retryIf).not.toHaveBeenCalled();
  });
});

describe('retry events', () => {
  it('come before the wait, with the attempt that failed, and not after the last', async () => {
    const policy = new RetryPolicy({ name: 'quotes', attempts: 3, backoff: STEADY });
    const recorder = new EventRecorder(policy);
    const errors = [new Error('first'), new Error('second'), new Error('third')];
    let calls = 0;
    const call = outcomeOf(policy.execute(() => Promise.reject(errors[calls++]), { source: 'Job.run' }));
    await pass(0);
    const retry = { type: 'retry', policy: 'quotes', source: 'Job.run', delayMs: 100 };
    expect(recorder.events).toEqual([{ ...retry, attempt: 1, error: errors[0] }]);

    await pass(1_000);
    expect(call.value).toBe(errors[2]);
    expect(recorder.events.slice(1)).toEqual([{ ...retry, attempt: 2, error: errors[1] }]);
    expect((recorder.events[0] as { error: unknown }).error).toBe(errors[0]);
  });

  it('are not emitted for a success', async () => {
    const policy = new RetryPolicy();
    const recorder = new EventRecorder(policy);
    await policy.execute(() => 'answer');

    expect(recorder.events).toEqual([]);
  });

  it('do not depend on who listens: the wait is the same', async () => {
    const observed = new RetryPolicy({ attempts: 2, backoff: STEADY });
    new EventRecorder(observed);
    const calls = [observed, new RetryPolicy({ attempts: 2, backoff: STEADY })].map((policy) => {
      const work = counting();
      outcomeOf(policy.execute(() => (work(), Promise.reject(down))));
      return work;
    });
    await pass(99);
    expect(calls.map((work) => work.mock.calls.length)).toEqual([1, 1]);

    await pass(1);
    expect(calls.map((work) => work.mock.calls.length)).toEqual([2, 2]);
  });
});

describe('the options of a retry', () => {
  it.each([
    [0, /^attempts: expected a whole number of at least 1, or Infinity, got 0/],
    [-1, /^attempts: .* got -1/],
    [1.5, /^attempts: .* got 1\.5/],
    [NaN, /^attempts: .* got NaN/],
    [-Infinity, /^attempts: .* got -Infinity/],
    [true, /^attempts: .* got true/],
    ['3', /^attempts: .* got "3"/],
    [{ attempts: null }, /^attempts: .* got null/],
    [{ attempts: 0 }, /^attempts: .* got 0/],
    [{ maxAttempts: 3 }, /^maxAttempts: unknown option\. Did you mean "attempts"\?/],
    [{ retries: 3 }, /^retries: unknown option/],
    [{ backoff: { delay: '1 s' } }, /^backoff\.delay: Invalid duration "1 s"/],
    [{ backoff: { factor: 0.5 } }, /^backoff\.factor: /],
    [{ backoff: { jitters: 'none' } }, /^backoff\.jitters: unknown option\. Did you mean "jitter"\?/],
    [{ backoff: '200ms' }, /^backoff: expected an options object, got a string/],
    [{ retryIf: true }, /^retryIf: expected a function, got true/],
    [{ retryOnResult: [] }, /^retryOnResult: expected a function, got an array/],
    [{ retryAfter: 'no' }, /^retryAfter: expected true or false, got "no"/],
    [{ name: '' }, /^name: expected a name/],
    [null, /expected an options object, got null/],
    [[], /expected an options object, got an array/],
  ])('%j are refused', (options, message) => {
    expect(() => new RetryPolicy(options as RetryOptions)).toThrow(TypeError);
    expect(() => new RetryPolicy(options as RetryOptions)).toThrow(message);
  });

  it('are read once, not written to, and make independent policies', async () => {
    const options = Object.freeze({ attempts: 2, backoff: Object.freeze({ delay: 10, factor: 1 }) });
    const [first, second] = [new RetryPolicy(options), new RetryPolicy(options)];
    const recorder = new EventRecorder(second);
    outcomeOf(first.execute(() => Promise.reject(down)));
    await pass(10);

    expect(recorder.events).toEqual([]);
    expect(options).toEqual({ attempts: 2, backoff: { delay: 10, factor: 1 } });
  });

  it('that are changed later change nothing', async () => {
    const options = { attempts: 2, backoff: { delay: 10, factor: 1 } };
    const policy = new RetryPolicy(options);
    options.attempts = 5;
    options.backoff.delay = 9_999;
    const work = counting();
    outcomeOf(policy.execute(() => (work(), Promise.reject(down))));
    await pass(10);

    expect(policy.attempts).toBe(2);
    expect(work).toHaveBeenCalledTimes(2);
  });
});
