import { getEventListeners } from 'node:events';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BulkheadPolicy } from './policies/bulkhead.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { OutboundRateLimitPolicy } from './policies/rate-limit.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';
import { currentScope, runInScope, type Scope } from './scope.js';

const collectGarbage = globalThis.gc as () => void;
const MEGABYTE = 2 ** 20;
const down = new Error('down');

/** What is left on the heap once all that can be collected was. */
async function heapUsed(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await turn();
    collectGarbage();
  }

  return process.memoryUsage().heapUsed;
}

/** What three rounds leave behind, after one to warm up. */
async function leakOf(round: () => Promise<void>): Promise<number> {
  await round();
  const before = await heapUsed();
  for (let count = 0; count < 3; count++) await round();

  return (await heapUsed()) - before;
}

const everyStage = (): ResiliencePolicy =>
  ResiliencePolicy.wrap(
    new FallbackPolicy(() => 'answer'),
    new RetryPolicy({ attempts: 2, retryIf: () => false }),
    new CircuitBreakerPolicy({ minimumCalls: 1_000, slidingWindow: { type: 'time', size: '1h' } }),
    new OutboundRateLimitPolicy({ limit: 1e9, interval: 1 }),
    new TimeoutPolicy('1h'),
    new BulkheadPolicy({ maxConcurrent: 50, maxQueue: 1_000 }),
  );

/** Calls that succeed, fail and wait in the queue, in batches; half of them ask for their signal. */
async function manyCalls(policy: ResiliencePolicy, signal: AbortSignal, leak?: unknown[]): Promise<void> {
  for (let batch = 0; batch < 1_000; batch++) {
    const calls = Array.from({ length: 100 }, (_, index) =>
      policy.execute(
        async (context) => {
          leak?.push(new Array(7).fill(batch));
          if (index % 2 === 0 && context.signal.aborted) throw new Error('aborted');
          if (index % 5 === 0) throw down;
          return await Promise.resolve(index);
        },
        { signal },
      ),
    );
    await Promise.all(calls);
  }
}

describe('100,000 executions on one long-lived signal', () => {
  it('leave no listener and less than a megabyte behind', { timeout: 120_000 }, async () => {
    const { signal } = new AbortController();
    const policy = everyStage();
    const leak = await leakOf(() => manyCalls(policy, signal));

    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(leak).toBeLessThan(MEGABYTE);
  });

  it('would be seen to leak a hundred bytes each', { timeout: 120_000 }, async () => {
    const { signal } = new AbortController();
    const policy = everyStage();
    const leaked: unknown[] = [];
    const leak = await leakOf(() => manyCalls(policy, signal, leaked));

    expect(leaked).toHaveLength(400_000);
    expect(leak).toBeGreaterThan(MEGABYTE);
  });
});

describe('10,000 policies that were made, used and dropped', () => {
  it('leave no listener and less than a megabyte behind', { timeout: 120_000 }, async () => {
    const { signal } = new AbortController();
    const leak = await leakOf(async () => {
      for (let made = 0; made < 10_000; made++) {
        const policy = everyStage();
        policy.subscribe(() => {});
        await policy.execute(() => made, { signal, source: 'Job.run' });
      }
    });

    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(leak).toBeLessThan(MEGABYTE);
  });
});

describe('what an execution held', () => {
  it('can be collected while its caller and its signal live on', async () => {
    const { signal } = new AbortController();
    const policy = everyStage();
    const contexts: WeakRef<object>[] = [];
    const work = (context: object): Promise<string> => {
      contexts.push(new WeakRef(context));
      return Promise.resolve('answer');
    };
    await policy.execute(work, { signal });
    await policy.execute((context) => Promise.reject((void work(context), down)), { signal });
    await heapUsed();

    expect(contexts.map((context) => context.deref())).toEqual([undefined, undefined]);
  });
});

describe('the attempts of a call that is retried for ever', () => {
  it('are collected one after the other', async () => {
    const controller = new AbortController();
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ attempts: Infinity, backoff: { delay: 0 } }),
      new TimeoutPolicy('1h'),
    );
    const attempts: WeakRef<object>[] = [];
    const call = policy.execute(
      (context) => {
        attempts.push(new WeakRef(context));
        return Promise.reject(down);
      },
      { signal: controller.signal },
    );
    await expect.poll(() => attempts.length).toBeGreaterThan(50);
    await heapUsed();
    const alive = attempts.filter((attempt) => attempt.deref() !== undefined);
    controller.abort(down);

    expect(alive.length).toBeLessThan(10);
    await expect(call).rejects.toBe(down);
  });
});

describe('a chain of scopes, each opened from a timer of the one before', () => {
  /** How many of 50 scopes are alive while the last one is. */
  async function aliveOf(open: (inside: () => void) => void): Promise<number> {
    const scopes: WeakRef<Scope>[] = [];
    const last = await new Promise<Scope>((resolve) => {
      const next = (): void =>
        open(() => {
          const scope = currentScope() as Scope;
          scopes.push(new WeakRef(scope));
          if (scopes.length === 50) setTimeout(resolve, 0, scope);
          else setTimeout(next, 0);
        });
      next();
    });
    await heapUsed();
    const alive = scopes.filter((scope) => scope.deref() !== undefined);
    expect(alive.at(-1)?.deref()).toBe(last);

    return alive.length;
  }

  it('is collected as far as its attempts have ended', async () => {
    const policy = new TimeoutPolicy('1h');

    expect(await aliveOf((inside) => void policy.execute(inside))).toBeLessThan(5);
  });

  it('is collected when each call begins the next one before it ends', async () => {
    const policy = new TimeoutPolicy('1h');
    const open = (inside: () => void): void => {
      void policy.execute(async () => {
        inside();
        await wait(3);
      });
    };

    expect(await aliveOf(open)).toBeLessThan(10);
  });

  it('is collected when no call ever heeds that it was given up', async () => {
    const policy = new TimeoutPolicy(1);
    const open = (inside: () => void): void => {
      policy
        .execute(async () => {
          inside();
          await wait(20);
        })
        .catch(() => {});
    };

    expect(await aliveOf(open)).toBeLessThan(30);
  });

  it('is collected as far as it was opened by hand, also when the signal lives on', async () => {
    const { signal } = new AbortController();

    expect(await aliveOf((inside) => runInScope({ signal }, inside))).toBeLessThan(5);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('is collected when executions and scopes opened by hand take turns', async () => {
    const { signal } = new AbortController();
    const policy = new TimeoutPolicy('1h');
    let opened = 0;
    const alive = await aliveOf((inside) => {
      if (opened++ % 2 === 0) void policy.execute(inside);
      else runInScope({ signal }, () => (void currentScope()?.signal, inside()));
    });

    expect(alive).toBeLessThan(5);
  });

  it('leaves nothing on the signals that were joined on the way', async () => {
    const own = new AbortController();
    const around = new AbortController();
    for (let call = 0; call < 50; call++) {
      await new BulkheadPolicy().execute(
        () =>
          runInScope({ signal: own.signal }, async () => {
            void currentScope()?.signal;
            await new BulkheadPolicy().execute(() => call);
          }),
        { signal: around.signal },
      );
    }
    await heapUsed();
    await turn();

    expect(getEventListeners(around.signal, 'abort')).toEqual([]);
    await expect.poll(() => (collectGarbage(), getEventListeners(own.signal, 'abort'))).toEqual([]);
  });
});
