import './install.js';
import { subscribe as listenOn, unsubscribe as stopListening } from 'node:diagnostics_channel';
import {
  BulkheadPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
  type ResilienceEvent,
} from 'holdfast';
import type { Observable } from 'rxjs';
import { of } from 'rxjs';
import { afterEach, describe, expect, expectTypeOf, it, vi } from 'vitest';

type Listener = (message: unknown, name: string | symbol) => void;

const listening: [string, Listener][] = [];

/** Writes down what is published on a channel, until the test is over. */
function record(name: string): unknown[] {
  const messages: unknown[] = [];
  const listener: Listener = (message) => messages.push(message);
  listenOn(name, listener);
  listening.push([name, listener]);

  return messages;
}

afterEach(() => {
  for (const [name, listener] of listening.splice(0)) stopListening(name, listener);
});

async function provokeRetry(policy: ResiliencePolicy = new RetryPolicy({ attempts: 2, backoff: { delay: 0 } })) {
  await expect(policy.execute(() => Promise.reject(new Error('down')), { source: 'Test.call' })).rejects.toThrow(
    'down',
  );
}

describe('importing the package', () => {
  it('publishes every event of a policy made with new on a channel of its type', async () => {
    const messages = record('nestjs:resilience:retry');

    await provokeRetry();

    expect(messages).toEqual([
      { type: 'retry', policy: 'retry', source: 'Test.call', attempt: 1, delayMs: 0, error: new Error('down') },
    ]);
  });

  it('leaves the channels of the engine as they are', async () => {
    const messages = record('holdfast:retry');

    await provokeRetry();

    expect(messages).toHaveLength(1);
  });

  it('gives the same event object to both', async () => {
    const ours = record('nestjs:resilience:retry');
    const engines = record('holdfast:retry');

    await provokeRetry();

    expect(ours[0]).toBe(engines[0]);
  });

  it.each([
    ['timeout', () => new TimeoutPolicy(1).execute(() => new Promise(() => {}))],
    ['bulkhead-rejected', () => busy().execute(() => 1)],
  ] as const)('publishes on nestjs:resilience:%s', async (type, call) => {
    const messages = record(`nestjs:resilience:${type}`) as ResilienceEvent[];

    await call().catch(() => {});

    expect(messages.map((message) => message.type)).toEqual([type]);
  });

  it.each(['holdfast', 'nestjs:resilience'])(
    'keeps the channels of %s, which Node would otherwise drop together with who subscribed meanwhile',
    async (family) => {
      const name = `${family}:rate-limited`;
      const nobody = (): void => {};
      for (let round = 0; round < 3; round++) {
        listenOn(name, nobody);
        stopListening(name, nobody);
        await turns(2);
        globalThis.gc?.();
        exceedRateLimit();
        await turns(2);
        globalThis.gc?.();
        const messages = record(name);
        await turns(10); // what was collected is forgotten now

        exceedRateLimit();

        expect(messages).toHaveLength(1);
        for (const [channel, listener] of listening.splice(0)) stopListening(channel, listener);
      }
    },
  );

  it('publishes once when the process has two copies of it', async () => {
    vi.resetModules();
    const messages = record('nestjs:resilience:retry');
    // The second copy finds the engine of the first, as in an installation that has one engine and two of these.
    vi.doMock('holdfast', () => ({ ResiliencePolicy, subscribe: failIfCalled }));
    const before = Object.getOwnPropertyDescriptor(ResiliencePolicy.prototype, 'executeObservable')?.value as unknown;

    await import('./install.js');
    await provokeRetry();

    expect(messages).toHaveLength(1);
    expect(Object.getOwnPropertyDescriptor(ResiliencePolicy.prototype, 'executeObservable')?.value).toBe(before);
    vi.doUnmock('holdfast');
  });

  it('serves each engine when the process has two copies of that', async () => {
    vi.resetModules();
    const messages = record('nestjs:resilience:retry');
    const second = await import('holdfast');
    await import('./install.js');
    expect(second.RetryPolicy).not.toBe(RetryPolicy);

    await provokeRetry();
    expect(messages).toHaveLength(1);
    await provokeRetry(new second.RetryPolicy({ attempts: 2, backoff: { delay: 0 } }) as unknown as ResiliencePolicy);
    expect(messages).toHaveLength(2);
  });

  it('adds executeObservable to every policy, and to wraps of them', () => {
    const values: unknown[] = [];
    for (const policy of [new RetryPolicy(), new BulkheadPolicy(), ResiliencePolicy.wrap()]) {
      policy.executeObservable(() => of(policy.name)).subscribe((value) => values.push(value));
    }

    expect(values).toEqual(['retry', 'bulkhead', 'noop']);
  });

  it('adds nothing that shows when the keys of a policy are listed', () => {
    const keys: string[] = [];
    for (const key in new RetryPolicy()) keys.push(key);

    expect(keys).not.toContain('executeObservable');
  });

  it('types executeObservable by the values of the factory', () => {
    const policy = new RetryPolicy();

    expectTypeOf(policy.executeObservable(() => of(1))).toEqualTypeOf<Observable<number>>();
    expectTypeOf(policy.executeObservable(() => Promise.resolve('a'))).toEqualTypeOf<Observable<string>>();
    expectTypeOf(policy.executeObservable(({ attempt }) => attempt)).toEqualTypeOf<Observable<number>>();
    expectTypeOf(policy.executeObservable).parameter(1).toExtend<{ signal?: AbortSignal | undefined } | undefined>();
  });
});

function exceedRateLimit(): void {
  const limit = new OutboundRateLimitPolicy({ limit: 1, interval: '1h' });
  void limit.execute(() => 1);
  limit.execute(() => 2).catch(() => {});
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

function failIfCalled(): never {
  throw new Error('The second copy subscribed too.');
}

function busy(): BulkheadPolicy {
  const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
  void bulkhead.execute(() => new Promise(() => {}));

  return bulkhead;
}
