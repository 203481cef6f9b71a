import { channel, subscribe as listenTo, unsubscribe as leave } from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { subscribe } from './events.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import { ResiliencePolicy } from './policy.js';

const STEADY = { delay: 10, factor: 1 } as const;
const down = new Error('down');
const fail = (): Promise<never> => Promise.reject(down);

useFakeClock();

describe('diagnostics channels', () => {
  const leaving: (() => void)[] = [];
  const on = (type: string, listener: (message: unknown) => void): void => {
    listenTo(`holdfast:${type}`, listener);
    leaving.push(() => leave(`holdfast:${type}`, listener));
  };
  afterEach(() => {
    leaving.splice(0).forEach((leaveIt) => leaveIt());
  });

  it('carry each type of event of every policy, one channel per type', async () => {
    const heard: unknown[] = [];
    for (const type of ['retry', 'timeout', 'circuit-open', 'circuit-rejected']) {
      on(type, (message) => heard.push([type, message]));
    }
    const policy = ResiliencePolicy.wrap(
      new RetryPolicy({ attempts: 3, backoff: STEADY }),
      new CircuitBreakerPolicy({ minimumCalls: 2 }),
      new TimeoutPolicy(50),
    );
    outcomeOf(policy.execute(() => new Promise(() => {}), { source: 'Job.run' }));
    await pass(1_000);

    expect(heard).toMatchObject(
      ['timeout', 'retry', 'timeout', 'circuit-open', 'retry', 'circuit-rejected'].map((type) => [
        type,
        { type, source: 'Job.run' },
      ]),
    );
  });

  it('hear of an event before all other subscribers, and of a timeout before the signal aborts', async () => {
    const order: string[] = [];
    const policy = new TimeoutPolicy(50);
    const stop = subscribe(() => order.push('process'));
    policy.subscribe(() => order.push('policy'));
    on('timeout', () => order.push('channel'));
    outcomeOf(
      policy.execute(({ signal }) => new Promise(() => signal.addEventListener('abort', () => order.push('abort')))),
    );
    await pass(50);
    stop();

    expect(order).toEqual(['channel', 'process', 'policy', 'abort']);
  });

  it('carry the same object that the others are given', async () => {
    const heard: unknown[] = [];
    const policy = new RetryPolicy({ attempts: 2, backoff: STEADY });
    on('retry', (message) => heard.push(message));
    policy.subscribe((event) => heard.push(event));
    outcomeOf(policy.execute(fail));
    await pass(10);

    expect(heard).toHaveLength(2);
    expect(heard[0]).toBe(heard[1]);
  });

  it('that nobody reads are not published on', async () => {
    const retries = channel('holdfast:retry');
    const { publish } = retries;
    const published: unknown[] = [];
    Object.defineProperty(retries, 'publish', {
      configurable: true,
      value: (message: unknown) => (published.push(message), publish.call(retries, message)),
    });
    outcomeOf(new RetryPolicy({ attempts: 2, backoff: STEADY }).execute(fail));
    await pass(10);
    Reflect.deleteProperty(retries, 'publish');

    expect(published).toEqual([]);
  });

  it('may be subscribed to and left at any time', async () => {
    const heard: unknown[] = [];
    const listener = (message: unknown): void => void heard.push(message);
    const policy = new RetryPolicy({ attempts: 2, backoff: STEADY });
    const run = async (): Promise<void> => {
      outcomeOf(policy.execute(fail));
      await pass(10);
    };
    await run();
    listenTo('holdfast:retry', listener);
    await run();
    leave('holdfast:retry', listener);
    await run();

    expect(heard).toHaveLength(1);
  });

  it('change no outcome when one of their subscribers throws, which is for Node to report', async () => {
    const reported: unknown[] = [];
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => reported.push(error));
    const failure = new Error('of a subscriber');
    on('retry', () => {
      throw failure;
    });
    let runs = 0;
    const call = outcomeOf(
      new RetryPolicy({ attempts: 2, backoff: STEADY }).execute(() => (++runs === 1 ? fail() : 'answer')),
    );
    await pass(10);
    await new Promise((resolve) => setImmediate(resolve));
    process.removeAllListeners('uncaughtException');
    others.forEach((listener) => process.on('uncaughtException', listener));

    expect(call.value).toBe('answer');
    expect(reported).toEqual([failure]);
  });
});
