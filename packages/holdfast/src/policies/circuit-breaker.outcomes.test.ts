import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import {
  BulkheadFullError,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  CircuitOpenError,
  FallbackPolicy,
  OutboundRateLimitError,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from '../index.js';
import { EventRecorder } from '../testing/index.js';
import type { CircuitBreakerOptions } from './circuit-breaker-options.js';

useFakeClock();

const outage = new Error('outage');
const withStatus = (status: unknown, key = 'status'): Error => Object.assign(new Error('answered'), { [key]: status });
const httpException = (status: number): Error =>
  Object.assign(new Error('exception'), { getStatus: () => status, getResponse: () => ({}) });

/** Opens with the first failure that counts. */
const touchy = (options: CircuitBreakerOptions = {}): CircuitBreakerPolicy =>
  new CircuitBreakerPolicy({ minimumCalls: 1, ...options });

const failing = (breaker: ResiliencePolicy, error: unknown): Promise<unknown> =>
  errorOf(breaker.execute(() => Promise.reject(error)));

describe('what counts as a failure', () => {
  it.each<[string, unknown]>([
    ['an error without a status', outage],
    ['a 500', withStatus(500)],
    ['a 503 in statusCode', withStatus(503, 'statusCode')],
    ['a 408 of the dependency', withStatus(408)],
    ['a 429 of the dependency', withStatus(429)],
    ['a status that is a string', withStatus('404')],
    ['a server error of the framework', httpException(500)],
    ['a timeout that somebody else made', new ResilienceTimeoutError(10, 'other')],
    ['a string', 'down'],
    ['nothing at all', undefined],
  ])('by default: %s', async (_what, error) => {
    const breaker = touchy();

    expect(await failing(breaker, error)).toBe(error);

    expect(breaker.state).toBe('open');
  });

  it.each<[string, unknown]>([
    ['a 404', withStatus(404)],
    ['a 422 in statusCode', withStatus(422, 'statusCode')],
    ['a client error of the framework', httpException(404)],
    ['a 408 answered to our own caller', httpException(408)],
    ['a 429 answered to our own caller', httpException(429)],
    ['an open breaker further inside', new CircuitOpenError('inner', 10)],
    ['a full bulkhead further inside', new BulkheadFullError('inner', 'full')],
    ['a wait in a queue that was too long', new BulkheadFullError('inner', 'queue-timeout')],
    ['a rate limit further inside', new OutboundRateLimitError('inner', 10)],
  ])('not, and as no call at all: %s', async (_what, error) => {
    const breaker = touchy();

    expect(await failing(breaker, error)).toBe(error);

    expect(breaker.stats).toEqual({ total: 0, failures: 0, failureRate: 0 });
  });

  it('is what recordIf says, by truthiness, client errors included', async () => {
    const recordIf = vi.fn((error: unknown) => ((error as { status?: number }).status === 404 ? 'yes' : '') as never);
    const breaker = new CircuitBreakerPolicy({ recordIf });

    await failing(breaker, withStatus(404));
    await failing(breaker, withStatus(500));

    expect(breaker.stats).toEqual({ total: 1, failures: 1, failureRate: 100 });
    expect(recordIf).toHaveBeenCalledTimes(2);
  });

  it('is never a refusal, and recordIf is not asked about it', async () => {
    const recordIf = vi.fn(() => true);
    const breaker = touchy({ recordIf });

    await failing(breaker, new BulkheadFullError('inner', 'full'));

    expect(recordIf).not.toHaveBeenCalled();
    expect(breaker.state).toBe('closed');
  });

  it('is not asked for a call that succeeds', async () => {
    const recordIf = vi.fn(() => true);

    await touchy({ recordIf }).execute(() => 1);

    expect(recordIf).not.toHaveBeenCalled();
  });

  it('is one outcome for all attempts of a retry inside, and one for each attempt of a retry around', async () => {
    const outside = new CircuitBreakerPolicy();
    const inside = new CircuitBreakerPolicy();
    const retry = new RetryPolicy({ attempts: 3, backoff: { delay: 0 } });

    const results = Promise.all([
      failing(ResiliencePolicy.wrap(outside, retry), outage),
      failing(ResiliencePolicy.wrap(retry, inside), outage),
    ]);
    await pass(10);
    expect(await results).toEqual([outage, outage]);

    expect(outside.stats.failures).toBe(1);
    expect(inside.stats.failures).toBe(3);
  });

  it('is not a refusal of our own bulkhead or rate limit, however many there are', async () => {
    const work = new ManualWork();
    const breaker = touchy();
    const full = ResiliencePolicy.wrap(breaker, new BulkheadPolicy({ maxConcurrent: 1 }));
    const first = full.execute(work.run);
    for (let call = 0; call < 5; call++) {
      expect(await errorOf(full.execute(work.run))).toBeInstanceOf(BulkheadFullError);
    }
    const limited = ResiliencePolicy.wrap(breaker, new OutboundRateLimitPolicy({ limit: 1, interval: 1_000 }));
    await limited.execute(() => 1);
    expect(await errorOf(limited.execute(() => 1))).toBeInstanceOf(OutboundRateLimitError);

    work.call(0).answer();
    await first;

    expect(breaker.state).toBe('closed');
    expect(breaker.stats).toEqual({ total: 2, failures: 0, failureRate: 0 });
  });
});

describe('an error of a callback further inside', () => {
  const confused = new Error('confused');
  const confuse = (): never => {
    throw confused;
  };

  it.each<[string, ResiliencePolicy, unknown]>([
    ['retryIf', new RetryPolicy({ retryIf: confuse }), confused],
    ['a backoff', new RetryPolicy({ backoff: () => -Infinity }), expect.any(TypeError)],
    ['a timeout function', new TimeoutPolicy(() => NaN), expect.any(TypeError)],
    ['handleIf', new FallbackPolicy(() => 1, { handleIf: confuse }), confused],
  ])('is no outcome of the dependency: %s', async (_which, inner, error) => {
    const breaker = touchy({ recordIf: () => true });

    expect(await failing(ResiliencePolicy.wrap(breaker, inner), outage)).toEqual(error);

    expect(breaker.stats.total).toBe(0);
  });
});

describe('a recordIf that cannot decide', () => {
  const confused = new Error('confused');

  it('takes the place of the error with its own, and the call counts as failed', async () => {
    const breaker = touchy({
      recordIf: () => {
        throw confused;
      },
    });

    expect(await failing(breaker, outage)).toBe(confused);

    expect(breaker.state).toBe('open');
    expect(breaker.stats).toEqual({ total: 1, failures: 1, failureRate: 100 });
  });

  it('reopens a half-open breaker, and its probe is given back', async () => {
    const recordIf = vi.fn((): boolean => {
      throw confused;
    });
    const breaker = touchy({ openDuration: 1_000, recordIf });
    breaker.trip();
    await pass(1_000);

    expect(await failing(breaker, outage)).toBe(confused);
    expect(breaker.state).toBe('open');

    await pass(1_000);
    await breaker.execute(() => 1);
    expect(breaker.state).toBe('closed');
  });

  it('is refused when it returns a promise, whose rejection nobody has to handle', async () => {
    const breaker = touchy({ recordIf: (() => Promise.reject(new Error('late'))) as never });

    const error = await failing(breaker, outage);

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain('recordIf returned a Promise');
    expect(breaker.state).toBe('open');
  });

  it('is not worth another attempt', async () => {
    const work = vi.fn(() => Promise.reject(outage));
    const breaker = touchy({
      recordIf: () => {
        throw confused;
      },
    });

    expect(await errorOf(ResiliencePolicy.wrap(new RetryPolicy(3), breaker).execute(work))).toBe(confused);

    expect(work).toHaveBeenCalledTimes(1);
  });
});

describe('a recordIf that throws for a call which a timeout around the breaker has cut', () => {
  it('is reported, since the error of the timeout is the outcome, and the call counts as failed', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue();
    const flaw = new Error('confused');
    const breaker = touchy({
      name: 'carrier',
      recordIf: () => {
        throw flaw;
      },
    });
    const call = outcomeOf(ResiliencePolicy.wrap(new TimeoutPolicy(100), breaker).execute(new ManualWork().run));

    await pass(100);

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(printed.mock.calls).toEqual([['recordIf of circuit breaker "carrier" failed', flaw]]);
    expect(breaker.state).toBe('open');
  });
});

describe('a call that its caller gives up', () => {
  it('does not count, whatever recordIf says and whatever the work does then', async () => {
    const breaker = touchy({ recordIf: () => true });
    const recorder = new EventRecorder(breaker);
    const work = new ManualWork();
    const controllers = Array.from({ length: 100 }, () => new AbortController());
    const calls = controllers.map(({ signal }) => outcomeOf(breaker.execute(work.run, { signal })));
    const reasons = controllers.map((_, index) => new Error(`caller ${index} left`));

    controllers.forEach((controller, index) => controller.abort(reasons[index]));
    await microtasks();
    work.calls.forEach((call) => call.fail(outage));
    await microtasks();

    expect(calls.map((call) => call.value)).toEqual(reasons);
    expect(breaker.stats.total).toBe(0);
    expect(breaker.state).toBe('closed');
    expect(recorder.types).toEqual([]);
  });

  it('does not count when the work fails in answer to the abort', async () => {
    const breaker = touchy({ recordIf: () => true });
    const controller = new AbortController();
    const call = outcomeOf(
      breaker.execute(
        ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(outage))),
        { signal: controller.signal },
      ),
    );

    controller.abort('left');
    await microtasks();

    expect(call).toEqual({ state: 'rejected', value: 'left' });
    expect(breaker.stats.total).toBe(0);
  });

  it('does not count when its caller leaves inside of recordIf', async () => {
    const controller = new AbortController();
    const breaker = touchy({ recordIf: () => (controller.abort('left'), true) });

    expect(await errorOf(breaker.execute(() => Promise.reject(outage), { signal: controller.signal }))).toBe('left');

    expect(breaker.stats.total).toBe(0);
  });

  it('has failed when the failure came before the abort', async () => {
    const breaker = touchy();
    const controller = new AbortController();

    expect(await errorOf(breaker.execute(() => Promise.reject(outage), { signal: controller.signal }))).toBe(outage);
    controller.abort();

    expect(breaker.state).toBe('open');
  });

  it('never reaches the breaker when the signal had aborted before', async () => {
    const breaker = touchy();
    breaker.trip();
    const recorder = new EventRecorder(breaker);

    const error = await errorOf(breaker.execute(() => 1, { signal: AbortSignal.abort('gone') }));

    expect(error).toBe('gone');
    expect(recorder.events).toEqual([]);
  });
});

describe('an outcome from before a change of state', () => {
  it.each<[string, (breaker: CircuitBreakerPolicy) => void]>([
    ['reset() of a closed breaker', (breaker) => breaker.reset()],
    ['trip() and reset()', (breaker) => (breaker.trip(), breaker.reset())],
  ])('changes nothing after %s', async (_what, change) => {
    const breaker = touchy();
    const work = new ManualWork();
    const calls = [breaker.execute(work.run), breaker.execute(work.run)].map(outcomeOf);

    change(breaker);
    work.call(0).fail(outage);
    work.call(1).answer('late');
    await microtasks();

    expect(calls).toEqual([
      { state: 'rejected', value: outage },
      { state: 'fulfilled', value: 'late' },
    ]);
    expect(breaker.stats.total).toBe(0);
    expect(breaker.state).toBe('closed');
  });

  it('changes nothing once the breaker has opened', async () => {
    const breaker = touchy({ openDuration: 1_000 });
    const work = new ManualWork();
    const late = outcomeOf(breaker.execute(work.run));
    await failing(breaker, outage);

    work.call(0).fail(outage);
    await microtasks();

    expect(late.state).toBe('rejected');
    expect(breaker.stats).toEqual({ total: 1, failures: 1, failureRate: 100 });
    await pass(1_000);
    expect(breaker.state).toBe('half-open');
  });

  it.each<['answer' | 'fail']>([['answer'], ['fail']])('does not decide a half-open period: %s', async (how) => {
    const breaker = touchy({ openDuration: 1_000 });
    const work = new ManualWork();
    const late = breaker.execute(work.run);
    breaker.trip();
    await pass(1_000);
    expect(breaker.state).toBe('half-open');

    work.call(0)[how](outage);
    await late.catch(() => {});

    expect(breaker.state).toBe('half-open');
    await breaker.execute(() => 'probe');
    expect(breaker.state).toBe('closed');
  });

  it('is not counted when trip() restarts an open breaker in the meantime', async () => {
    const breaker = touchy({ openDuration: 1_000 });
    breaker.trip();
    await pass(1_000);
    const work = new ManualWork();
    const probe = breaker.execute(work.run);
    breaker.trip();
    breaker.trip();

    work.call(0).answer();
    await probe;

    expect(breaker.state).toBe('open');
  });
});
