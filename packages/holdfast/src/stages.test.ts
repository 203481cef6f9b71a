import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { OutboundRateLimitPolicy } from './policies/rate-limit.js';
import { RetryPolicy, type RetryOptions } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { composeStages, createPolicy, type StageOptions } from './stages.js';
import { EventRecorder, ScriptedDownstream } from './testing/index.js';

const STEADY = { delay: 10, factor: 1 } as const;
const down = new Error('down');
const hang = (): Promise<never> => new Promise(() => {});

useFakeClock();

describe('the canonical order: fallback, retry, circuit breaker, outbound rate limit, timeout, bulkhead, work', () => {
  const stages = {
    bulkhead: new BulkheadPolicy(),
    timeout: new TimeoutPolicy(100),
    outboundRateLimit: new OutboundRateLimitPolicy({ limit: 1, interval: 1 }),
    circuitBreaker: new CircuitBreakerPolicy(),
    retry: new RetryPolicy(2),
    fallback: new FallbackPolicy(() => 1),
  };
  const { fallback, retry, circuitBreaker, outboundRateLimit, timeout, bulkhead } = stages;

  it('holds for policies, in whatever order they are written', () => {
    expect(composeStages(stages, 'carrier').pipeline.stages).toEqual([
      fallback,
      retry,
      circuitBreaker,
      outboundRateLimit,
      timeout,
      bulkhead,
    ]);
  });

  it('holds for options, in whatever order they are written', () => {
    const options: [string, unknown][] = [
      ['bulkhead', {}],
      ['timeout', 100],
      ['outboundRateLimit', { limit: 1, interval: 1 }],
      ['circuitBreaker', {}],
      ['retry', 2],
      ['fallback', () => 1],
    ];
    const kinds = (entries: [string, unknown][]): string[] =>
      createPolicy(Object.fromEntries(entries) as StageOptions).pipeline.stages.map((stage) => stage.constructor.name);

    expect(kinds(options.toReversed())).toEqual(kinds(options));
    expect(kinds(options)).toEqual([
      'FallbackPolicy',
      'RetryPolicy',
      'CircuitBreakerPolicy',
      'OutboundRateLimitPolicy',
      'TimeoutPolicy',
      'BulkheadPolicy',
    ]);
  });

  it('lets the fallback answer for what all the others do', async () => {
    const policy = createPolicy({
      retry: { attempts: 5, backoff: STEADY },
      circuitBreaker: { minimumCalls: 2, failureRateThreshold: 100, slidingWindow: { type: 'count', size: 5 } },
      timeout: 100,
      fallback: (error) => (error as { code: string }).code,
    });
    const recorder = new EventRecorder(policy);
    const call = outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(1_000);

    expect(call.value).toBe('CIRCUIT_OPEN');
    expect(recorder.types).toEqual(['retry', 'circuit-open', 'retry', 'circuit-rejected', 'fallback']);
  });

  it('wastes one wait before an open breaker refuses', async () => {
    const policy = createPolicy({
      retry: { attempts: 5, backoff: { delay: 100, factor: 1 } },
      circuitBreaker: { minimumCalls: 1 },
    });
    const call = outcomeOf(policy.execute(() => Promise.reject(down)));
    await pass(99);
    expect(call.state).toBe('pending');

    await pass(1);
    expect(call.value).toMatchObject({ code: 'CIRCUIT_OPEN' });
  });

  it('counts each attempt, gives each its own limit and slot, and holds none while it waits', async () => {
    const breaker = new CircuitBreakerPolicy();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const policy = createPolicy({
      retry: { attempts: 3, backoff: STEADY },
      circuitBreaker: breaker,
      timeout: 100,
      bulkhead,
    });
    const downstream = new ScriptedDownstream([{ hang: true }]);
    outcomeOf(policy.execute(downstream.call));
    expect(bulkhead.active).toBe(1);
    await pass(100);
    expect(bulkhead.active).toBe(0);
    await pass(10);
    expect(bulkhead.active).toBe(1);
    await pass(210);

    expect(downstream.calls).toHaveLength(3);
    expect(breaker.stats).toMatchObject({ total: 3, failures: 3 });
  });

  it('keeps the wait for a token outside of the limit, and its refusals outside of the count', async () => {
    const breaker = new CircuitBreakerPolicy();
    const policy = createPolicy({
      circuitBreaker: breaker,
      outboundRateLimit: { limit: 1, interval: 100, maxWait: 100 },
      timeout: 50,
    });
    await policy.execute(() => 'first');
    const second = outcomeOf(policy.execute(() => 'second'));
    const third = outcomeOf(policy.execute(() => 'third'));
    await pass(100);

    expect(second.value).toBe('second');
    expect(third.value).toMatchObject({ code: 'RATE_LIMITED' });
    expect(breaker.stats).toMatchObject({ total: 2, failures: 0 });
  });

  it('keeps the wait for a slot inside of the limit', async () => {
    const policy = createPolicy({ timeout: 100, bulkhead: { maxConcurrent: 1, maxQueue: 5 } });
    const work = new ManualWork();
    outcomeOf(policy.execute(work.run));
    await pass(50);
    const waiting = outcomeOf(policy.execute(work.run));
    await pass(100);

    expect(waiting.value).toMatchObject({ code: 'TIMEOUT' });
    expect(work.calls).toHaveLength(1);
    work.call(0).answer();
    await microtasks();
  });
});

describe('stages that are left out', () => {
  it('are not there', () => {
    expect(createPolicy({}).pipeline.stages).toEqual([]);
    expect(createPolicy({ timeout: 5, retry: undefined, bulkhead: undefined }).pipeline.stages).toHaveLength(1);
  });

  it.each<StageOptions['retry'] & {}>([1, false, { attempts: 1 }, { attempts: 1, retryOnResult: () => true }])(
    'are retries with one attempt, as %j',
    async (retry) => {
      expect(createPolicy({ retry }).pipeline.stages).toEqual([]);
      expect(composeStages({ retry: new RetryPolicy(retry) }, 'x').pipeline.stages).toEqual([]);
      await expect(createPolicy({ retry }).execute(() => Promise.reject(down))).rejects.toBe(down);
    },
  );

  it('all of them leave a policy that runs its calls as they are', async () => {
    await expect(createPolicy({}).execute(() => 'answer')).resolves.toBe('answer');
    await expect(createPolicy({}).execute(() => Promise.reject(down))).rejects.toBe(down);
  });
});

describe('the name of a policy made from options', () => {
  it('is `anonymous` by default', () => {
    expect(createPolicy({}).name).toBe('anonymous');
    expect(createPolicy({}, 'carrier').name).toBe('carrier');
  });

  it('is shown by all its stages in events and errors', async () => {
    const policy = createPolicy(
      {
        fallback: { handler: () => Promise.reject(down) },
        retry: { attempts: 2, backoff: STEADY },
        circuitBreaker: { minimumCalls: 2 },
        outboundRateLimit: { limit: 3, interval: '1h' },
        timeout: 100,
        bulkhead: { maxConcurrent: 1 },
      },
      'carrier',
    );
    const recorder = new EventRecorder(policy);
    const { call } = new ScriptedDownstream([{ hang: true }]);
    outcomeOf(policy.execute(call));
    outcomeOf(policy.execute(call));
    await pass(1_000);
    outcomeOf(policy.execute(call));
    await microtasks();

    const named = recorder.events.map(({ type, policy: name }) => [type, name]);
    expect(new Set(named.map(([, name]) => name))).toEqual(new Set(['carrier']));
    expect(new Set(named.map(([type]) => type))).toEqual(
      new Set(['bulkhead-rejected', 'timeout', 'retry', 'circuit-open', 'circuit-rejected', 'fallback']),
    );
  });

  it('gives way to a name that a stage has of its own', async () => {
    const policy = createPolicy({ circuitBreaker: { name: 'shared', minimumCalls: 1 }, timeout: 100 }, 'carrier');
    const recorder = new EventRecorder(policy);
    outcomeOf(policy.execute(hang));
    await pass(100);

    expect(recorder.events.map(({ type, policy: name }) => [type, name])).toEqual([
      ['timeout', 'carrier'],
      ['circuit-open', 'shared'],
    ]);
  });

  it('is not hidden by a name that is undefined', async () => {
    const policy = createPolicy({ circuitBreaker: { name: undefined, minimumCalls: 1 } }, 'carrier');
    const recorder = new EventRecorder(policy);
    outcomeOf(policy.execute(() => Promise.reject(down)));
    await microtasks();

    expect(recorder.events).toMatchObject([{ policy: 'carrier' }]);
  });
});

describe('a policy object in place of options', () => {
  it('is shared with all that use it', async () => {
    const circuitBreaker = new CircuitBreakerPolicy({ name: 'carrier', minimumCalls: 1 });
    const [first, second] = [createPolicy({ circuitBreaker, timeout: 100 }), createPolicy({ circuitBreaker })];
    await expect(first.execute(() => Promise.reject(down))).rejects.toBe(down);

    await expect(second.execute(() => 'answer')).rejects.toMatchObject({ code: 'CIRCUIT_OPEN', policy: 'carrier' });
  });

  it('is not shared when each is made from the same options', async () => {
    const options = Object.freeze({ circuitBreaker: Object.freeze({ minimumCalls: 1 }) });
    const [first, second] = [createPolicy(options), createPolicy(options)];
    await expect(first.execute(() => Promise.reject(down))).rejects.toBe(down);

    await expect(first.execute(() => 'answer')).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' });
    await expect(second.execute(() => 'answer')).resolves.toBe('answer');
    expect(options).toEqual({ circuitBreaker: { minimumCalls: 1 } });
  });

  it.each(['outboundRateLimit', 'bulkhead'] as const)('may be that of a %s', (stage) => {
    const policies = {
      outboundRateLimit: new OutboundRateLimitPolicy({ limit: 1, interval: 1 }),
      bulkhead: new BulkheadPolicy(),
    };

    expect(createPolicy({ [stage]: policies[stage] }).pipeline.stages).toEqual([policies[stage]]);
  });
});

describe('a policy where it cannot be', () => {
  const remedy = 'Write options here, or put policies around each other with ResiliencePolicy.wrap().';

  it.each([
    ['retry', new RetryPolicy(), 'options, a number of attempts, or false', 'a RetryPolicy'],
    ['retry', new TimeoutPolicy(1), 'options, a number of attempts, or false', 'a TimeoutPolicy'],
    ['circuitBreaker', new BulkheadPolicy(), 'options or a CircuitBreakerPolicy', 'a BulkheadPolicy'],
    ['circuitBreaker', createPolicy({}), 'options or a CircuitBreakerPolicy', 'several policies in one'],
    ['bulkhead', new CircuitBreakerPolicy(), 'options or a BulkheadPolicy', 'a CircuitBreakerPolicy'],
    ['outboundRateLimit', new RetryPolicy(), 'options or an OutboundRateLimitPolicy', 'a RetryPolicy'],
    ['timeout', new TimeoutPolicy(1), 'a duration or a function of the attempt', 'a TimeoutPolicy'],
    ['fallback', new FallbackPolicy(() => 1), 'a function or options', 'a FallbackPolicy'],
  ])('%s is refused with what it is: %o', (stage, policy, expected, kind) => {
    const create = (): unknown => createPolicy({ [stage]: policy });

    expect(create).toThrow(TypeError);
    expect(create).toThrow(`${stage}: expected ${expected}, got ${kind}. ${remedy}`);
  });

  it('is refused in place of all options', () => {
    const limit = new OutboundRateLimitPolicy({ limit: 1, interval: 1 });

    expect(() => createPolicy(limit as StageOptions)).toThrow(
      `expected the options of stages, got an OutboundRateLimitPolicy. ${remedy}`,
    );
  });

  it('does not compile, and options in a variable do', () => {
    const options: RetryOptions = { attempts: 2 };
    expect(() => createPolicy({ retry: options })).not.toThrow();
    // @ts-expect-error -- a policy is no options
    expect(() => createPolicy({ retry: new RetryPolicy() })).toThrow(TypeError);
    // @ts-expect-error -- nor is one of another kind
    expect(() => createPolicy({ circuitBreaker: new BulkheadPolicy() })).toThrow(TypeError);
    // @ts-expect-error -- nor one of another kind here
    expect(() => createPolicy({ bulkhead: new CircuitBreakerPolicy() })).toThrow(TypeError);
  });
});

describe('options of stages that are wrong', () => {
  it.each([
    [{ retry: { attempts: 0 } }, /^retry\.attempts: expected a whole number/],
    [{ retry: NaN }, /^retry\.attempts: .* got NaN/],
    [{ retry: true }, /^retry\.attempts: .* got true/],
    [{ retry: { backoff: { delay: 'x' } } }, /^retry\.backoff\.delay: Invalid duration "x"/],
    [{ timeout: NaN }, /^timeout: Invalid duration NaN/],
    [{ timeout: '0s' }, /^timeout: Invalid duration "0s"/],
    [{ circuitBreaker: { minimumCalls: 50 } }, /^circuitBreaker\.minimumCalls: .*50.*20/],
    [
      { circuitBreaker: { slidingWindow: { type: 'calls', size: 5 } } },
      /^circuitBreaker\.slidingWindow\.type: .*"calls"/,
    ],
    [{ circuitBreaker: 'carrier' }, /^circuitBreaker: expected an options object, got a string/],
    [{ bulkhead: { maxConcurrent: 0 } }, /^bulkhead\.maxConcurrent: /],
    [{ bulkhead: { maxConcurent: 2 } }, /^bulkhead\.maxConcurent: unknown option\. Did you mean "maxConcurrent"\?/],
    [{ outboundRateLimit: { limit: 1 } }, /^outboundRateLimit\.interval: Invalid duration undefined/],
    [{ outboundRateLimit: { limit: Infinity, interval: 1 } }, /^outboundRateLimit\.limit: /],
    [{ fallback: 'flatRates' }, /^fallback: expected an options object, got a string/],
    [{ fallback: { handleIf: () => true } }, /^fallback\.handler: expected a function, got undefined/],
    [{ fallback: { handler: (): number => 1, handle: 1 } }, /^fallback\.handle: unknown option/],
    [{ fallback: { handlr: () => 1 } }, /^fallback\.handlr: unknown option\. Did you mean "handler"\?/],
    [
      { fallback: { value: 1 } },
      /^fallback\.handler: is missing: expected a function, got undefined, only value\. Use .*\{ handler, handleIf \}/,
    ],
    [{ fallback: {} }, /^fallback\.handler: is missing: expected a function, got undefined\. Use/],
    [{ fallback: { handler: 1 } }, /^fallback\.handler: expected a function, got 1/],
    [
      { fallback: { handler: (): number => 1, name: 'rates' } },
      /^fallback\.name: unknown option\. Known options: handler, handleIf\./,
    ],
    [{ fallback: null }, /^fallback: /],
    [{ retries: 3 }, /^retries: unknown option/],
    [{ timeoutMs: 3 }, /^timeoutMs: unknown option\. Did you mean "timeout"\?/],
    [{ circuitbreaker: {} }, /^circuitbreaker: unknown option\. Did you mean "circuitBreaker"\?/],
    [undefined, /expected an options object, got undefined/],
    [[], /expected an options object, got an array/],
  ])('%j are refused with the path', (options, message) => {
    expect(() => createPolicy(options as StageOptions)).toThrow(TypeError);
    expect(() => createPolicy(options as StageOptions)).toThrow(message);
  });

  it('are refused when the policy is made, before any call', () => {
    const work = vi.fn();
    expect(() => createPolicy({ timeout: 'soon' as '1s' }).execute(work)).toThrow(TypeError);
    expect(work).not.toHaveBeenCalled();
  });
});
