import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf } from '../test/outcome.js';
import { WatchedController } from '../test/watched-signal.js';
import type { Execution } from './execution.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { OutboundRateLimitPolicy } from './policies/rate-limit.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy, StagePolicy } from './policy.js';
import { createPolicy } from './stages.js';
import { EventRecorder } from './testing/index.js';

const STEADY = { delay: 10, factor: 1 } as const;
const down = new Error('down');

/** Writes down when a call passes. */
class Witness extends StagePolicy {
  readonly #seen: string[];

  constructor(name: string, seen: string[]) {
    super(name);
    this.#seen = seen;
  }

  enter(): boolean {
    this.#seen.push(`into ${this.name}`);
    return true;
  }

  leave(execution: Execution): boolean {
    this.#seen.push(`out of ${this.name} ${execution.ok ? 'well' : 'badly'}`);
    return true;
  }
}

useFakeClock();

const everyKind = (): ResiliencePolicy[] => [
  new RetryPolicy(),
  new TimeoutPolicy(1_000),
  new CircuitBreakerPolicy(),
  new BulkheadPolicy(),
  new OutboundRateLimitPolicy({ limit: 1_000, interval: 1 }),
  new FallbackPolicy(() => 'answer'),
  ResiliencePolicy.wrap(),
  createPolicy({ retry: 2, timeout: 50 }),
];

describe('wrapped policies', () => {
  it('are entered from the first to the last and left in the opposite order', async () => {
    const seen: string[] = [];
    const policy = ResiliencePolicy.wrap(new Witness('a', seen), new Witness('b', seen), new Witness('c', seen));
    await policy.execute(() => seen.push('work'));

    expect(seen).toEqual(['into a', 'into b', 'into c', 'work', 'out of c well', 'out of b well', 'out of a well']);
  });

  it('are flattened when they are wraps themselves', async () => {
    const seen: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => new Witness(name, seen)) as [Witness, Witness, Witness];
    const nested = ResiliencePolicy.wrap(
      ResiliencePolicy.wrap(a, ResiliencePolicy.wrap(b)),
      ResiliencePolicy.wrap(),
      c,
    );
    await errorOf(nested.execute(() => Promise.reject(down)));

    expect(nested.pipeline.stages).toEqual([a, b, c]);
    expect(seen.slice(3)).toEqual(['out of c badly', 'out of b badly', 'out of a badly']);
  });

  it.each([
    [
      [[new RetryPolicy()]],
      'policies[0]: expected a policy, got an array. Spread it: ResiliencePolicy.wrap(...policies).',
    ],
    [[{}], 'policies[0]: expected a policy, got an object. Use policies such as new RetryPolicy(), or createPolicy()'],
    [[new RetryPolicy(), undefined], 'policies[1]: expected a policy, got undefined.'],
    [[RetryPolicy], 'policies[0]: expected a policy, got function RetryPolicy.'],
  ])('are policies, all of them: %o', (given, message) => {
    const wrap = (): unknown => ResiliencePolicy.wrap(...(given as ResiliencePolicy[]));

    expect(wrap).toThrow(TypeError);
    expect(wrap).toThrow(message);
  });

  it('are named after each other', () => {
    const [retry, timeout] = [new RetryPolicy({ name: 'again' }), new TimeoutPolicy({ name: 'limit', timeout: 5 })];

    expect(ResiliencePolicy.wrap(retry, timeout).name).toBe('again > limit');
    expect(ResiliencePolicy.wrap(retry).name).toBe('again');
    expect(ResiliencePolicy.wrap(ResiliencePolicy.wrap(retry, timeout), new BulkheadPolicy()).name).toBe(
      'again > limit > bulkhead',
    );
    expect(ResiliencePolicy.wrap(createPolicy({ retry: 2 }, 'carrier'), timeout).name).toBe('carrier > limit');
  });

  it('without any policy are named `noop` and run a call as it is', async () => {
    const noop = ResiliencePolicy.wrap();

    expect(noop.name).toBe('noop');
    await expect(noop.execute(() => 'answer')).resolves.toBe('answer');
    await expect(noop.execute(() => Promise.reject(down))).rejects.toBe(down);
  });

  it('pass on the events of each of them, until told to stop', async () => {
    const [retry, breaker] = [
      new RetryPolicy({ attempts: 2, backoff: STEADY }),
      new CircuitBreakerPolicy({ minimumCalls: 2 }),
    ];
    const policy = ResiliencePolicy.wrap(ResiliencePolicy.wrap(retry), breaker);
    const recorder = new EventRecorder(policy);
    outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(10);
    expect(recorder.types).toEqual(['retry', 'circuit-open']);

    recorder.stop();
    breaker.reset();
    expect(recorder.types).toHaveLength(2);
  });
});

describe('a policy that would meet itself', () => {
  it.each([
    ['circuit breaker', new CircuitBreakerPolicy({ name: 'carrier' })],
    ['bulkhead', new BulkheadPolicy({ name: 'carrier' })],
  ])('a %s that stands twice in one wrap is refused by name', (_kind, policy) => {
    const nested = ResiliencePolicy.wrap(new RetryPolicy(2), policy);

    expect(() => ResiliencePolicy.wrap(policy, nested)).toThrow(
      new TypeError('"carrier" stands twice in one policy, and would meet itself. Use it once.'),
    );
  });

  it('may stand twice when it keeps nothing for a call', async () => {
    const retry = new RetryPolicy(2);

    await expect(ResiliencePolicy.wrap(retry, retry).execute(() => 1)).resolves.toBe(1);
  });
});

describe.each(everyKind().map((policy) => [policy.name, policy] as const))('execute() of %s', (_name, policy) => {
  it('resolves to what the work returns, or what the promise of it resolves to', async () => {
    await expect(policy.execute(() => 5)).resolves.toBe(5);
    await expect(policy.execute(() => Promise.resolve(5))).resolves.toBe(5);
    await expect(policy.execute(async () => await Promise.resolve(5))).resolves.toBe(5);
    await expect(policy.execute(() => undefined)).resolves.toBeUndefined();
  });

  it('rejects with what the work throws, and takes no notice of how', async () => {
    const notFound = Object.assign(new Error('not found'), { status: 404 });

    await expect(policy.execute(() => Promise.reject(notFound))).rejects.toBe(notFound);
    await expect(
      policy.execute(() => {
        throw notFound;
      }),
    ).rejects.toBe(notFound);
  });

  it('never runs the work later than in the same turn, when nothing is in its way', () => {
    const work = vi.fn(() => 'answer');
    void policy.execute(work);

    expect(work).toHaveBeenCalledTimes(1);
  });

  it('rejects with the reason itself, without running the work, when the signal has aborted', async () => {
    const work = vi.fn();

    expect(await errorOf(policy.execute(work, { signal: AbortSignal.abort(down) }))).toBe(down);
    expect(work).not.toHaveBeenCalled();
  });

  it('rejects at once with the reason itself when the signal aborts, whatever the work does', async () => {
    const controller = new WatchedController();
    const call = outcomeOf(policy.execute(() => new Promise(() => {}), { signal: controller.signal }));
    await microtasks();
    controller.abort(down);
    await microtasks();

    expect(call.value).toBe(down);
    expect(controller.listeners).toBe(0);
  });

  it.each([undefined, null, 5, 'work', {}, Promise.resolve()])('rejects when the work is %s', async (work) => {
    const error = await errorOf(policy.execute(work as () => unknown));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/^work: expected a function, got /);
  });

  it.each([null, 5, 'signal', {}, new AbortController()])('rejects when the signal is %s', async (signal) => {
    const work = vi.fn();
    const error = await errorOf(policy.execute(work, { signal: signal as AbortSignal }));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/^signal: expected an AbortSignal, got /);
    expect(work).not.toHaveBeenCalled();
  });

  it('takes options that are undefined', async () => {
    const options = { signal: undefined, source: undefined, detached: undefined, ambient: undefined };

    await expect(policy.execute(() => 5, options)).resolves.toBe(5);
    await expect(policy.execute(() => 5, undefined)).resolves.toBe(5);
  });

  it('writes nothing to the options', async () => {
    const options = Object.freeze({ source: 'Job.run', signal: new AbortController().signal });

    await expect(policy.execute(() => 5, options)).resolves.toBe(5);
  });
});

describe('a thenable', () => {
  it('that calls back more than once is heard once', async () => {
    const thenable = {
      then(resolve: (value: string) => void, reject: (error: unknown) => void) {
        resolve('first');
        resolve('second');
        reject(down);
      },
    };

    await expect(new TimeoutPolicy(100).execute(() => thenable as PromiseLike<string>)).resolves.toBe('first');
  });

  it('that throws has failed', async () => {
    const thenable = {
      then(): never {
        throw down;
      },
    };

    await expect(new TimeoutPolicy(100).execute(() => thenable as PromiseLike<string>)).rejects.toBe(down);
  });

  it('may be a function', async () => {
    const thenable = Object.assign(() => {}, { then: (resolve: (value: string) => void) => resolve('answer') });

    await expect(new TimeoutPolicy(100).execute(() => thenable as unknown as string)).resolves.toBe('answer');
  });
});
