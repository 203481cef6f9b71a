import { describe, expect, it, vi, type MockInstance } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf, type Outcome } from '../../test/outcome.js';
import { useScriptedFetch } from '../../test/scripted-fetch.js';
import { WatchedController } from '../../test/watched-signal.js';
import {
  BudgetPolicy,
  CircuitBreakerPolicy,
  createPolicy,
  DeadlineExceededError,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';
import { runInScope } from '../scope.js';
import { fetchJson, requireValue, type FetchOutcome } from './index.js';

const FLAGS = 'https://flags.test/v1/evaluate';
const page = (milliseconds: number): BudgetPolicy => new BudgetPolicy({ budget: milliseconds, name: 'page' });
const hang = (): Promise<never> => new Promise(() => {});

useFakeClock();
const scripted = useScriptedFetch();

/** Fetches inside of a policy's work, and shows the outcome also when the policy has given the work up. */
async function fetchInside(policy: ResiliencePolicy, signal?: AbortSignal): Promise<[Outcome, Outcome]> {
  let inner: Outcome | undefined;
  const work = async (): Promise<unknown> => {
    await microtasks();
    const call = fetchJson(FLAGS, {}, '10s');
    inner = outcomeOf(call);
    return call;
  };
  const outer = outcomeOf(policy.execute(work, { signal }));
  await microtasks();
  await pass(0);

  return [outer, inner as Outcome];
}

describe('a call inside of a budget', () => {
  it('ends with it', async () => {
    const [outer, inner] = await fetchInside(page(100));
    await pass(99);
    expect(inner.state).toBe('pending');
    await pass(1);

    expect(inner.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });
    expect(outer.value).toBeInstanceOf(DeadlineExceededError);
  });

  it('is aborted with an error named TimeoutError, whose cause is the deadline’s', async () => {
    await fetchInside(page(100));
    await pass(100);
    const { reason } = scripted.current.call.signal as { reason: DOMException };

    expect(reason).toBeInstanceOf(DOMException);
    expect(reason.name).toBe('TimeoutError');
    expect(reason.cause).toBeInstanceOf(DeadlineExceededError);
    expect(reason.cause).toMatchObject({ budgetMs: 100, policy: 'page' });
  });

  it('ends with the deadline also when whoever set it has been answered meanwhile', async () => {
    let inner: Outcome | undefined;
    await page(100).execute(() => void (inner = outcomeOf(fetchJson(FLAGS, {}, '10s'))));
    await pass(99);
    expect(inner?.state).toBe('pending');
    await pass(1);

    expect(inner?.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });
    expect(scripted.current.call.signal.reason).toHaveProperty('cause.policy', 'page');
  });

  it('keeps its own limit where that comes first', async () => {
    const call = page(300).execute(() => fetchJson(FLAGS, {}, 100));
    await pass(100);

    expect(await call).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });
    expect(scripted.current.call.signal.reason).toHaveProperty('cause.timeoutMs', 100);
  });

  it('of which nothing is left is not made', async () => {
    const call = outcomeOf(
      new BudgetPolicy({ budget: 100, minRemaining: 30 }).execute(async () => {
        await new Promise((resolve) => setTimeout(resolve, 71));
        return fetchJson(FLAGS, {}, '10s');
      }),
    );
    await pass(71);

    expect(call.value).toEqual({ ok: false, reason: 'budget_exhausted', ms: 0 });
    expect(scripted.current.calls).toEqual([]);
  });
});

describe('a call inside of an attempt', () => {
  it('ends with the attempt’s limit', async () => {
    const [outer, inner] = await fetchInside(new TimeoutPolicy(100));
    await pass(100);

    expect(inner.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });
    expect(outer.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(scripted.current.call.signal.reason).toMatchObject({ name: 'TimeoutError', cause: outer.value });
  });

  it('ends with whoever asked for the attempt, with that reason', async () => {
    const caller = new AbortController();
    const [, inner] = await fetchInside(new TimeoutPolicy('5s'), caller.signal);
    const left = new Error('left');
    caller.abort(left);
    await microtasks();

    expect(inner.value).toEqual({ ok: false, reason: 'client_abort', ms: 0 });
    expect(scripted.current.call.signal.reason).toBe(left);
  });

  it('is not made when the attempt has been given up before', async () => {
    let inner: Promise<FetchOutcome<unknown>> | undefined;
    const call = outcomeOf(
      new TimeoutPolicy(100).execute(({ signal }) => {
        signal.addEventListener('abort', () => (inner = fetchJson(FLAGS, { signal }, '10s')));
        return hang();
      }),
    );
    await pass(100);

    expect(call.state).toBe('rejected');
    expect(await inner).toEqual({ ok: false, reason: 'budget_exhausted', ms: 0 });
    expect(scripted.current.calls).toEqual([]);
  });

  it('joins the attempt’s signal with one that it is given', async () => {
    const caller = new AbortController();
    const call = new TimeoutPolicy('5s').execute(() => fetchJson(FLAGS, { signal: caller.signal }, '10s'));
    await microtasks();
    caller.abort();

    expect(await call).toMatchObject({ ok: false, reason: 'client_abort' });
  });

  it('puts no listener on the attempt’s own signal, and ends with the attempt', async () => {
    let listen: MockInstance | undefined;
    let inner: Outcome | undefined;
    const call = new TimeoutPolicy(100).execute(({ signal }) => {
      listen = vi.spyOn(signal, 'addEventListener');
      inner = outcomeOf(fetchJson(FLAGS, { signal }, '10s'));
      return hang();
    });
    const failure = errorOf(call);
    await pass(100);

    expect(await failure).toBeInstanceOf(ResilienceTimeoutError);
    expect(listen).not.toHaveBeenCalled();
    expect(inner?.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });
  });

  it('follows it only while it runs', async () => {
    const around = new WatchedController();
    await runInScope({ signal: around.signal }, async () => {
      const call = fetchJson(FLAGS, {}, '1s');
      expect(around.listeners).toBe(1);
      scripted.current.call.answer({ json: 1 });
      await call;

      expect(around.listeners).toBe(0);
    });
  });

  it('leaves nothing with an attempt that lives on', async () => {
    let later: FetchOutcome<unknown> | undefined;
    const call = outcomeOf(
      new TimeoutPolicy('5s').execute(async () => {
        const first = fetchJson(FLAGS, {}, '1s');
        scripted.current.call.answer({ json: 1 });
        later = await first;
        return hang();
      }),
    );
    await pass(5_000);

    expect(later).toEqual({ ok: true, value: 1, ms: 0 });
    expect(call.state).toBe('rejected');
    expect(scripted.current.call.signal.aborted).toBe(false);
  });
});

describe('policies around a call that must have a value', () => {
  const load = async (): Promise<unknown> => requireValue(await fetchJson(FLAGS, {}, '1s'));
  const answerNext = async (status: number, headers?: object): Promise<void> => {
    await microtasks();
    scripted.current.call.answer({ status, headers, json: 'flags' });
    await pass(0);
  };

  it('repeat what failed', async () => {
    const call = outcomeOf(new RetryPolicy({ attempts: 2, backoff: { delay: 10, jitter: 'none' } }).execute(load));
    await answerNext(503);
    await pass(10);
    await answerNext(200);

    expect(call.value).toBe('flags');
  });

  it('wait for as long as the dependency asks', async () => {
    const call = outcomeOf(new RetryPolicy({ attempts: 2, backoff: { delay: 10 } }).execute(load));
    await answerNext(503, new Map([['retry-after', '3']]));
    await pass(2_999);
    expect(scripted.current.calls).toHaveLength(1);
    await pass(1);
    await answerNext(200);

    expect(call.value).toBe('flags');
  });

  it('neither repeat nor count what blames the request', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const call = errorOf(ResiliencePolicy.wrap(new RetryPolicy(3), breaker).execute(load));
    await answerNext(404);

    expect(await call).toMatchObject({ name: 'FetchFailedError', status: 404 });
    expect(scripted.current.calls).toHaveLength(1);
    expect(breaker.stats.total).toBe(0);
  });

  it('count a timeout', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const call = errorOf(breaker.execute(load));
    await pass(1_000);

    expect(await call).toMatchObject({ reason: 'upstream_timeout' });
    expect(breaker.state).toBe('open');
  });

  it('do not count a call that was never made, or that its caller cut', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const none = async (): Promise<unknown> => requireValue(await fetchJson(FLAGS, {}, 0));
    const gone = async (): Promise<unknown> =>
      requireValue(await fetchJson(FLAGS, { signal: AbortSignal.abort() }, '1s'));

    expect(await errorOf(breaker.execute(none))).toMatchObject({ reason: 'budget_exhausted' });
    expect(await errorOf(breaker.execute(gone))).toMatchObject({ reason: 'client_abort' });
    expect([breaker.state, breaker.stats.total]).toEqual(['closed', 0]);
  });

  it('answer with their fallback', async () => {
    const policy = createPolicy({ fallback: () => 'no flags' });
    const call = policy.execute(load);
    await answerNext(500);

    expect(await call).toBe('no flags');
  });
});
