import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf, type Outcome } from '../test/outcome.js';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { OutboundRateLimitPolicy } from './policies/rate-limit.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';
import { currentScope } from './scope.js';

/** For what takes as long as a busy machine needs. */
const PATIENCE = { timeout: 4_000 };
const request = new AsyncLocalStorage<string>();
// Fake timers fire in the context of whoever moves the clock, so these tests take real time, and little of it.
const STEADY = { delay: 2, factor: 1 } as const;
const down = new Error('down');

interface Handled {
  readonly seen: unknown[];
  readonly call: Outcome;
}

/** Runs work under a policy as the handler of a request would, and writes down what it sees of that request. */
function handle(policy: ResiliencePolicy, name: string, work: ManualWork['run']): Handled {
  const seen: unknown[] = [];
  const call = request.run(name, () =>
    outcomeOf(
      policy.execute((context) => {
        seen.push(request.getStore());
        return work(context);
      }),
    ),
  );

  return { seen, call };
}

async function settled(...handled: readonly Handled[]): Promise<void> {
  await expect.poll(() => handled.filter(({ call }) => call.state === 'pending'), PATIENCE).toEqual([]);
}

describe("a caller's async context", () => {
  it('is that of its work in every attempt', async () => {
    const policy = new RetryPolicy({ attempts: 4, backoff: STEADY });
    const handled = ['Ada', 'Grace'].map((name) => handle(policy, name, () => Promise.reject(down)));
    await settled(...handled);

    expect(handled.map(({ seen }) => seen)).toEqual([
      ['Ada', 'Ada', 'Ada', 'Ada'],
      ['Grace', 'Grace', 'Grace', 'Grace'],
    ]);
  });

  it('is that of its work after attempts that timed out', async () => {
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ backoff: STEADY }), new TimeoutPolicy(5));
    const handled = ['Ada', 'Grace'].map((name) => handle(policy, name, () => new Promise(() => {})));
    await settled(...handled);

    expect(handled.map(({ seen }) => seen)).toEqual([
      ['Ada', 'Ada', 'Ada'],
      ['Grace', 'Grace', 'Grace'],
    ]);
  });

  it('is that of its work after a wait in a queue, whoever gives the slot back', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 5 });
    const work = new ManualWork();
    const handled = ['Ada', 'Grace', 'Edsger'].map((name) => handle(bulkhead, name, work.run));
    for (let index = 0; index < 3; index++) {
      request.run('somebody else', () => work.call(index).answer());
      await microtasks();
    }

    expect(handled.map(({ seen }) => seen)).toEqual([['Ada'], ['Grace'], ['Edsger']]);
  });

  it('is that of its work in an attempt that follows a wait in a queue', async () => {
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 5 });
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ attempts: 2, backoff: STEADY }), bulkhead);
    const work = new ManualWork();
    const handled = ['Ada', 'Grace'].map((name) => handle(policy, name, work.run));
    for (let index = 0; index < 4; index++) {
      await expect.poll(() => work.calls.length, PATIENCE).toBe(index + 1);
      work.call(index).fail(down);
    }
    await settled(...handled);

    expect(handled.map(({ seen }) => seen)).toEqual([
      ['Ada', 'Ada'],
      ['Grace', 'Grace'],
    ]);
  });

  it('is that of its work after a wait for a token', async () => {
    const policy = new OutboundRateLimitPolicy({ limit: 1, interval: 5, maxWait: '1s' });
    const handled = ['Ada', 'Grace', 'Edsger'].map((name) => handle(policy, name, () => Promise.resolve()));
    await settled(...handled);

    expect(handled.map(({ seen }) => seen)).toEqual([['Ada'], ['Grace'], ['Edsger']]);
  });

  it('is that of its work when the tokens of many have come at once, since the event loop was held', async () => {
    const policy = new OutboundRateLimitPolicy({ limit: 2, interval: 10, maxWait: '1s' });
    const names = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Frances'];
    const handled = names.map((name) => handle(policy, name, () => Promise.resolve()));
    const end = performance.now() + 50;
    while (performance.now() < end);
    await settled(...handled);

    expect(handled.map(({ seen }) => seen)).toEqual(names.map((name) => [name]));
  });

  it('is that of its work when what it waits for is settled by another caller', async () => {
    const policy = new RetryPolicy({ attempts: 2, backoff: STEADY });
    const shared = new ManualWork();
    const promise = request.run('somebody else', () =>
      shared.run({ attempt: 1, signal: new AbortController().signal }),
    );
    const handled = handle(policy, 'Ada', () => promise);
    request.run('somebody else', () => shared.call(0).fail(down));
    await settled(handled);

    expect(handled.seen).toEqual(['Ada', 'Ada']);
  });

  it('is that of all its callbacks', async () => {
    const seen: [string, unknown][] = [];
    const note =
      <T>(callback: string, answer: T) =>
      (): T => {
        seen.push([callback, request.getStore()]);
        return answer;
      };
    const policy = ResiliencePolicy.wrap(
      new FallbackPolicy(note('fallback', 'answer'), { handleIf: note('handleIf', true) }),
      new RetryPolicy({ attempts: 2, backoff: note('backoff', 2), retryIf: note('retryIf', true) }),
      new CircuitBreakerPolicy({ recordIf: note('recordIf', true) }),
      new TimeoutPolicy(note('timeout', 5)),
    );
    const handled = handle(policy, 'Ada', ({ signal }) => {
      signal.addEventListener('abort', note('abort', undefined));
      return new Promise(() => {});
    });
    await settled(handled);

    expect(handled.call.value).toBe('answer');
    expect(new Set(seen.map(([callback]) => callback))).toEqual(
      new Set(['timeout', 'abort', 'recordIf', 'retryIf', 'backoff', 'handleIf', 'fallback']),
    );
    expect(seen.filter(([, store]) => store !== 'Ada')).toEqual([]);
  });

  // Repeated, since on real timers a machine that stalls for more than 50 ms keeps timeouts out of the breaker's count.
  it('is that of those who listen to its events', { retry: 2 }, async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 2 });
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1, queueTimeout: 5 });
    const policy = ResiliencePolicy.wrap(
      new FallbackPolicy(() => 'answer'),
      new RetryPolicy({ backoff: STEADY }),
      breaker,
      new TimeoutPolicy(20),
      bulkhead,
    );
    const seen: [string, unknown][] = [];
    policy.subscribe(({ type }) => seen.push([type, request.getStore()]));
    const occupant = new ManualWork();
    request.run('somebody else', () => outcomeOf(bulkhead.execute(occupant.run)));
    await settled(handle(policy, 'Ada', () => Promise.resolve('answer')));
    occupant.call(0).answer();
    await microtasks();
    await settled(
      handle(policy, 'Ada', ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject))),
    );

    expect(new Set(seen.map(([type]) => type))).toEqual(
      new Set(['bulkhead-rejected', 'fallback', 'timeout', 'retry', 'circuit-open', 'circuit-rejected']),
    );
    expect(seen.filter(([, store]) => store !== 'Ada')).toEqual([]);
  });

  it('is untouched by what the engine keeps there itself', async () => {
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ backoff: STEADY }), new TimeoutPolicy(500));
    const seen: unknown[] = [];
    const done = request.run('Ada', async () => {
      await policy.execute(() => 'answer');
      seen.push(request.getStore(), currentScope());
      await policy.execute(() => Promise.reject(down)).catch(() => {});
      seen.push(request.getStore(), currentScope());
    });
    await done;

    expect(seen).toEqual(['Ada', undefined, 'Ada', undefined]);
  });
});
