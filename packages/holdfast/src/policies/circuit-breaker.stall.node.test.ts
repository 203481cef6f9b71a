import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../test/outcome.js';
import { CircuitBreakerPolicy, ResiliencePolicy, ResilienceTimeoutError, TimeoutPolicy } from '../index.js';
import { EventRecorder } from '../testing/index.js';

// Real time: how late a timer of the platform fires is the subject.

const hang = (): Promise<never> => new Promise(() => {});
const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

function holdEventLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/** Runs a call that hangs into its timeout of 20 ms, with the event loop held meanwhile or not. */
async function timeOut(policy: ResiliencePolicy, heldMs: number): Promise<void> {
  const call = outcomeOf(policy.execute(hang));
  holdEventLoop(heldMs);
  await wait(40);
  expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
}

const inside = (breaker: CircuitBreakerPolicy): ResiliencePolicy =>
  ResiliencePolicy.wrap(breaker, new TimeoutPolicy(20));
const around = (breaker: CircuitBreakerPolicy): ResiliencePolicy =>
  ResiliencePolicy.wrap(new TimeoutPolicy(20), breaker);

describe('a timeout that fired late because the event loop was held', () => {
  it.each([
    ['inside', inside],
    ['around', around],
  ])(
    'does not count when it stands %s the breaker, though the call times out with its event',
    async (_where, build) => {
      const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
      const policy = build(breaker);
      const recorder = new EventRecorder(policy);

      await timeOut(policy, 150);

      expect(recorder.types).toEqual(['timeout']);
      expect(breaker.stats.total).toBe(0);
      expect(breaker.state).toBe('closed');
    },
  );

  it('decides no half-open period', async () => {
    const breaker = new CircuitBreakerPolicy({ openDuration: 0 });
    breaker.trip();

    await timeOut(inside(breaker), 150);
    expect(breaker.state).toBe('half-open');

    await breaker.execute(() => 1);
    expect(breaker.state).toBe('closed');
  });

  it('is told from one that fires in time', async () => {
    const breaker = new CircuitBreakerPolicy();

    // A busy machine may hold the loop of its own accord, but not every time.
    for (let tries = 0; tries < 10 && breaker.stats.failures === 0; tries++) await timeOut(inside(breaker), 0);

    expect(breaker.stats.failures).toBe(1);
  });
});
