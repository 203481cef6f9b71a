import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { microtasks, outcomeOf } from '../test/outcome.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  isClientError,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
} from './index.js';
import { isRejection } from './errors.js';

useFakeClock();

const STEADY = { delay: 1, factor: 1 } as const;
const down = new Error('down');
const fail = (): Promise<never> => Promise.reject(down);
const throwing = (): never => {
  throw new Error('of a trap');
};

/** What answers every look at it with an error. */
const unreadable = {
  'a proxy whose traps throw': () => new Proxy({}, { get: throwing, has: throwing, getPrototypeOf: throwing }),
  'a proxy that was revoked': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
};

describe.each(Object.entries(unreadable))('%s', (_name, create) => {
  it.each([
    ['is thrown', (error: object) => throwIt(error)],
    ['is rejected with', (error: object) => Promise.reject(error)],
  ])('that %s goes through every policy as it is, and leaves no slot and no probe behind', async (_how, lose) => {
    const error = create();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1 });
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, openDuration: 10 });
    const policy = ResiliencePolicy.wrap(new RetryPolicy({ attempts: 2, backoff: STEADY }), bulkhead, breaker);
    breaker.trip();
    await pass(10);
    let runs = 0;
    const work = (): unknown => ((runs += 1), lose(error));
    const first = outcomeOf(policy.execute(work));
    await pass(1);

    expect(first.state).toBe('rejected');
    expect([bulkhead.active, breaker.state, runs]).toEqual([0, 'open', 1]);
    const second = outcomeOf(new RetryPolicy({ attempts: 2, backoff: STEADY }).execute(work));
    await pass(1);
    expect([second.value === error, runs]).toEqual([true, 3]);
  });

  it('is replaced by a fallback', async () => {
    await expect(new FallbackPolicy(() => 'instead').execute(() => throwIt(create()))).resolves.toBe('instead');
  });

  it('as the reason of a caller ends every call that follows it', async () => {
    const controller = new AbortController();
    const reason = create();
    const policies = [new CircuitBreakerPolicy(), new RetryPolicy(2), new TimeoutPolicy(100)];
    const calls = policies.map((policy) =>
      outcomeOf(policy.execute(new ManualWork().run, { signal: controller.signal })),
    );
    controller.abort(reason);
    await microtasks();

    expect(calls.map(({ state, value }) => [state, value === reason])).toEqual(calls.map(() => ['rejected', true]));
  });

  it('is of no kind that we know', () => {
    expect([isClientError(create()), isRejection(create())]).toEqual([false, false]);
  });
});

describe('an error with a getter that throws', () => {
  it.each(['status', 'getStatus', 'getError', 'retryAfterMs', 'headers', 'response', 'cause'])(
    'in the place of its %s is retried, and comes out itself',
    async (field) => {
      const error = Object.defineProperty(new Error('down'), field, { get: throwing });
      const work = vi.fn(() => Promise.reject(error));
      const call = outcomeOf(new RetryPolicy({ attempts: 2, backoff: STEADY }).execute(work));
      await pass(1);

      expect(call).toEqual({ state: 'rejected', value: error });
      expect(work).toHaveBeenCalledTimes(2);
    },
  );
});

describe('a listener', () => {
  it('that is asynchronous and fails is reported once, and its rejection surprises nobody', async () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const failure = new Error('of a listener');
    const policy = new RetryPolicy({ attempts: 3, backoff: STEADY });
    policy.subscribe(() => Promise.reject(failure));
    const call = outcomeOf(policy.execute(fail));
    await pass(10);

    expect(call.value).toBe(down);
    expect(report.mock.calls).toEqual([[expect.stringContaining('"retry"'), failure]]);
  });

  it('that throws changes nothing either when the console throws too', async () => {
    vi.spyOn(console, 'error').mockImplementation(throwing);
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    breaker.subscribe(throwing);

    await expect(breaker.execute(fail)).rejects.toBe(down);
    expect(breaker.state).toBe('open');
  });
});

describe('a predicate', () => {
  it('may not return a thenable that is a function either', async () => {
    const query = Object.assign(() => {}, { then: () => {} });
    const policy = new RetryPolicy({ attempts: 2, retryIf: () => query as unknown as boolean });

    await expect(policy.execute(fail)).rejects.toThrow('retryIf returned a Promise');
  });
});

function throwIt(error: unknown): never {
  throw error;
}
