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
const down = new Error('down');
/** For what takes as long as a busy machine needs. */
const PATIENCE = { timeout: 4_000 };

/** Collects all that can be. */
async function collect(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await turn();
    collectGarbage();
  }
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
    await collect();

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
    await expect.poll(() => attempts.length, PATIENCE).toBeGreaterThan(50);
    await collect();
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
    await collect();
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
    await collect();
    await turn();

    expect(getEventListeners(around.signal, 'abort')).toEqual([]);
    await expect.poll(() => (collectGarbage(), getEventListeners(own.signal, 'abort')), PATIENCE).toEqual([]);
  });
});
