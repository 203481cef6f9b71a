import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { BulkheadFullError, CircuitOpenError, ResilienceTimeoutError } from '../errors.js';
import { ResiliencePolicy } from '../policy.js';
import type { AttemptContext } from '../scope.js';
import { DownstreamError, EventRecorder, ScriptedDownstream } from '../testing/index.js';
import { BulkheadPolicy } from './bulkhead.js';
import { CircuitBreakerPolicy } from './circuit-breaker.js';
import { FallbackPolicy, type FallbackHandler, type FallbackOptions } from './fallback.js';
import { OutboundRateLimitPolicy } from './rate-limit.js';
import { RetryPolicy } from './retry.js';
import { TimeoutPolicy } from './timeout.js';

const down = new Error('down');
const reason = new Error('the caller left');

useFakeClock();

describe('the attempt that a handler is told', () => {
  it('is the one that the fallback stands in, of retries inside of each other too', async () => {
    const told: number[] = [];
    const handler: FallbackHandler = (_error, { attempt }) => {
      told.push(attempt);
      throw down;
    };
    const twice = { attempts: 2, backoff: { delay: 0, factor: 1 } };
    const retries = [new RetryPolicy(twice), new RetryPolicy(twice)];
    const call = outcomeOf(
      ResiliencePolicy.wrap(...retries, new FallbackPolicy(handler)).execute(() => Promise.reject(down)),
    );
    await pass(10);

    expect(call.value).toBe(down);
    expect(told).toEqual([1, 2, 1, 2]);
  });
});

describe('a fallback', () => {
  it('answers for what failed', async () => {
    await expect(new FallbackPolicy(() => 'flat rate').execute(() => Promise.reject(down))).resolves.toBe('flat rate');
  });

  it('stays out of the way of what succeeded', async () => {
    const handler = vi.fn(() => 'flat rate');
    const policy = new FallbackPolicy(handler);
    const recorder = new EventRecorder(policy);

    await expect(policy.execute(() => 'live')).resolves.toBe('live');
    await expect(policy.execute(() => Promise.resolve(undefined))).resolves.toBeUndefined();
    expect(handler).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it('is given the error, and an attempt of its own with the number 1', async () => {
    const handler = vi.fn((_error: unknown, _context: AttemptContext) => 'flat rate');
    const work = new ManualWork();
    const call = outcomeOf(new FallbackPolicy(handler).execute(work.run));
    work.call(0).fail(down);
    await microtasks();

    const [error, context] = handler.mock.calls[0] as [unknown, AttemptContext];
    expect(call.value).toBe('flat rate');
    expect(error).toBe(down);
    expect(context.attempt).toBe(1);
    expect(context.signal).toBeInstanceOf(AbortSignal);
    expect(context.signal).not.toBe(work.call(0).context.signal);
    expect(context.signal.aborted).toBe(false);
    expect(handler.mock.calls[0]).toHaveLength(2);
  });

  it('outside of a retry is told of attempt 1, whatever number the last attempt had', async () => {
    const handler = vi.fn((_error: unknown, { attempt }: AttemptContext) => attempt);
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(handler), new RetryPolicy({ backoff: { delay: 1 } }));
    const call = outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(10);

    expect(call).toEqual({ state: 'fulfilled', value: 1 });
  });

  it('inside of a retry is told of the attempt that it answers in', async () => {
    const answers: number[] = [];
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ backoff: { delay: 1, factor: 1 }, retryOnResult: () => true }),
      new FallbackPolicy((_error, { attempt }) => answers.push(attempt)),
    );
    outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(10);

    expect(answers).toEqual([1, 2, 3]);
  });

  it.each([
    ['a value', () => 'answer'],
    ['a promise', () => Promise.resolve('answer')],
    ['another thenable', () => ({ then: (resolve: (value: string) => void) => resolve('answer') })],
  ])('may return %s', async (_what, handler) => {
    await expect(new FallbackPolicy(handler).execute(() => Promise.reject(down))).resolves.toBe('answer');
  });

  it.each([undefined, null, false, 0, ''])('may answer with %s', async (value) => {
    await expect(new FallbackPolicy(() => value).execute(() => Promise.reject(down))).resolves.toBe(value);
  });

  it('passes an Observable on as the value that it is, without subscribing', async () => {
    const observable = { subscribe: vi.fn(), pipe: vi.fn() };

    await expect(new FallbackPolicy(() => observable).execute(() => Promise.reject(down))).resolves.toBe(observable);
    expect(observable.subscribe).not.toHaveBeenCalled();
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no flat rates');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no flat rates'))],
  ])('that %s makes that the outcome, and was announced', async (_how, handler) => {
    const policy = new FallbackPolicy(handler);
    const recorder = new EventRecorder(policy);

    await expect(policy.execute(() => Promise.reject(down))).rejects.toThrow('no flat rates');
    expect(recorder.types).toEqual(['fallback']);
  });
});

describe('the event of a fallback', () => {
  it('comes before its handler runs', async () => {
    const order: unknown[] = [];
    const policy = new FallbackPolicy(() => order.push('handler'), { name: 'flat rates' });
    policy.subscribe((event) => order.push(event));
    await policy.execute(() => Promise.reject(down), { source: 'Job.run' });

    expect(order).toEqual([{ type: 'fallback', policy: 'flat rates', source: 'Job.run', error: down }, 'handler']);
  });

  it('has no source when there is none, and the name `fallback` by default', async () => {
    const policy = new FallbackPolicy(() => 1);
    const recorder = new EventRecorder(policy);
    await policy.execute(() => Promise.reject(down));

    expect(recorder.events).toEqual([{ type: 'fallback', policy: 'fallback', source: undefined, error: down }]);
  });
});

describe('what is answered for', () => {
  const outcome = async (error: unknown, options?: FallbackOptions): Promise<unknown> => {
    const call = outcomeOf(new FallbackPolicy(() => 'answer', options).execute(() => Promise.reject(error as Error)));
    await microtasks();

    return call.value;
  };

  it.each([
    down,
    new DownstreamError(500),
    new DownstreamError(408),
    new DownstreamError(429),
    new ResilienceTimeoutError(5, 'x'),
    new CircuitOpenError('x', 5),
    new BulkheadFullError('x', 'full'),
    'a text',
    undefined,
  ])('%s is', async (error) => {
    expect(await outcome(error)).toBe('answer');
  });

  it.each([new DownstreamError(404), new DownstreamError(400)])('%s is not', async (error) => {
    expect(await outcome(error)).toBe(error);
  });

  it('is decided by handleIf alone when there is one', async () => {
    expect(await outcome(new DownstreamError(404), { handleIf: () => true })).toBe('answer');
    expect(await outcome(down, { handleIf: (error) => error instanceof CircuitOpenError })).toBe(down);
    expect(await outcome(down, { handleIf: () => undefined as unknown as boolean })).toBe(down);
  });

  it('is decided with the error', async () => {
    const handleIf = vi.fn(() => true);
    await outcome(down, { handleIf });

    expect(handleIf.mock.calls).toEqual([[down]]);
  });

  it('cannot be decided by a promise, which is the outcome then', async () => {
    const handleIf = (() => Promise.reject(down)) as unknown as () => boolean;

    expect(await outcome(down, { handleIf })).toBeInstanceOf(TypeError);
    expect(await outcome(down, { handleIf })).toMatchObject({
      message: expect.stringMatching(/^handleIf returned a Promise/) as string,
    });
  });

  it('cannot be decided by an error of handleIf, which is the outcome then, without an event', async () => {
    const flaw = new RangeError('of the predicate');
    const handler = vi.fn(() => 'answer');
    const policy = new FallbackPolicy(handler, {
      handleIf: () => {
        throw flaw;
      },
    });
    const recorder = new EventRecorder(policy);

    await expect(policy.execute(() => Promise.reject(down))).rejects.toBe(flaw);
    expect(handler).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it('includes the limits and refusals of the policies inside', async () => {
    const breaker = new CircuitBreakerPolicy();
    breaker.trip();
    const full = new BulkheadPolicy({ maxConcurrent: 1 });
    const occupant = new ManualWork();
    outcomeOf(full.execute(occupant.run));
    const spent = new OutboundRateLimitPolicy({ limit: 1, interval: '1h' });
    await spent.execute(() => 1);

    const handler = vi.fn((error: unknown) => (error as { code: string }).code);
    const around = (policy: ResiliencePolicy): Promise<unknown> =>
      ResiliencePolicy.wrap(new FallbackPolicy(handler), policy).execute(() => new Promise(() => {}));
    const calls = [breaker, full, spent, new TimeoutPolicy(50)].map((policy) => outcomeOf(around(policy)));
    await pass(50);
    occupant.call(0).answer();
    await microtasks();

    expect(calls.map(({ value }) => value)).toEqual(['CIRCUIT_OPEN', 'BULKHEAD_FULL', 'RATE_LIMITED', 'TIMEOUT']);
  });

  it('passes a client error through untouched, and a breaker inside counts it neither way', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const notFound = new DownstreamError(404);
    const handler = vi.fn(() => 'answer');
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(handler), breaker);

    await expect(policy.execute(() => Promise.reject(notFound))).rejects.toBe(notFound);
    expect(handler).not.toHaveBeenCalled();
    expect(breaker.stats.total).toBe(0);
  });
});

describe('a caller that leaves', () => {
  it('is not answered: its reason comes out', async () => {
    const controller = new WatchedController();
    const handler = vi.fn(() => 'answer');
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(handler, { handleIf: () => true }), new TimeoutPolicy(100));
    const recorder = new EventRecorder(policy);
    const downstream = new ScriptedDownstream([{ hang: true }]);
    const call = outcomeOf(policy.execute(downstream.call, { signal: controller.signal }));
    controller.abort(reason);
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: reason });
    expect(handler).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
    expect(controller.listeners).toBe(0);
  });

  it('while the handler runs is not kept waiting, and the handler is told', async () => {
    const controller = new WatchedController();
    let signal: AbortSignal | undefined;
    const policy = new FallbackPolicy((_error, context) => {
      signal = context.signal;
      return new Promise(() => {});
    });
    const call = outcomeOf(policy.execute(() => Promise.reject(down), { signal: controller.signal }));
    await microtasks();
    expect(signal?.aborted).toBe(false);
    controller.abort(reason);
    await microtasks();

    expect(call.value).toBe(reason);
    expect(signal?.reason).toBe(reason);
  });

  it.each([true, false])('in handleIf is not answered (%s)', async (answer) => {
    const controller = new WatchedController();
    const handler = vi.fn(() => 'answer');
    const policy = new FallbackPolicy(handler, { handleIf: () => (controller.abort(reason), answer) });
    const recorder = new EventRecorder(policy);

    await expect(policy.execute(() => Promise.reject(down), { signal: controller.signal })).rejects.toBe(reason);
    expect(handler).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it('in a listener of the event is not answered', async () => {
    const controller = new WatchedController();
    const handler = vi.fn(() => 'answer');
    const policy = new FallbackPolicy(handler);
    policy.subscribe(() => controller.abort(reason));

    await expect(policy.execute(() => Promise.reject(down), { signal: controller.signal })).rejects.toBe(reason);
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('the handler of a fallback', () => {
  it('runs outside of the limit, the slot and the breaker inside', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, failureRateThreshold: 100 });
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const handler = new ManualWork();
    const policy = ResiliencePolicy.wrap(
      new FallbackPolicy((_error, context) => handler.run(context)),
      breaker,
      new TimeoutPolicy(100),
      bulkhead,
    );
    const call = outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(60_000);

    expect(call.state).toBe('pending');
    expect(bulkhead.active).toBe(0);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 1 });
    handler.call(0).fail(new Error('no flat rates'));
    await microtasks();
    expect(call.state).toBe('rejected');
    expect(breaker.stats.total).toBe(1);
  });

  it('runs inside of a limit that stands around it', async () => {
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), new FallbackPolicy(() => new Promise(() => {})));
    const call = outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
  });

  it('is not asked when a limit around it is over', async () => {
    const handler = vi.fn(() => 'answer');
    const policy = ResiliencePolicy.wrap(new TimeoutPolicy(100), new FallbackPolicy(handler));
    const call = outcomeOf(policy.execute(() => new Promise(() => {})));
    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(handler).not.toHaveBeenCalled();
  });

  it('is asked once, however many fallbacks stand around it', async () => {
    const [outer, inner] = [vi.fn(() => 'outer'), vi.fn(() => 'inner')];
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(outer), new FallbackPolicy(inner));

    await expect(policy.execute(() => Promise.reject(down))).resolves.toBe('inner');
    expect([outer.mock.calls.length, inner.mock.calls.length]).toEqual([0, 1]);
  });

  it('that fails is answered for by a fallback around it', async () => {
    const failed = new Error('no flat rates');
    const outer = vi.fn(() => 'outer');
    const policy = ResiliencePolicy.wrap(new FallbackPolicy(outer), new FallbackPolicy(() => Promise.reject(failed)));

    await expect(policy.execute(() => Promise.reject(down))).resolves.toBe('outer');
    expect(outer.mock.calls[0]).toEqual([failed, expect.anything()]);
  });
});

describe('the options of a fallback', () => {
  it.each([
    ['flatRates', {}, /^handler: expected a function, got "flatRates"/],
    [undefined, {}, /^handler: expected a function, got undefined/],
    [() => 1, { handleIf: true }, /^handleIf: expected a function, got true/],
    [() => 1, { handleIf: null }, /^handleIf: expected a function, got null/],
    [() => 1, { name: '' }, /^name: expected a name/],
    [() => 1, { handelIf: () => true }, /^handelIf: unknown option\. Did you mean "handleIf"\?/],
    [() => 1, null, /expected an options object, got null/],
    [() => 1, () => true, /expected an options object, got a function/],
  ])('%s with %j are refused', (handler, options, message) => {
    const make = (): unknown => new FallbackPolicy(handler as FallbackHandler, options as FallbackOptions);

    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it('may be frozen', () => {
    expect(new FallbackPolicy(() => 1, Object.freeze({ name: 'flat rates' })).name).toBe('flat rates');
  });
});
