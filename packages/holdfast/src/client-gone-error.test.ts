import { describe, expect, it, vi } from 'vitest';
import { useFakeClock } from '../test/fake-clock.js';
import { errorOf } from '../test/outcome.js';
import { ClientDisconnectedError } from './errors.js';
import { CircuitBreakerPolicy } from './policies/circuit-breaker.js';
import { FallbackPolicy } from './policies/fallback.js';
import { RetryPolicy } from './policies/retry.js';
import { EventRecorder } from './testing/index.js';

const left = new ClientDisconnectedError('page');
const leave = vi.fn(() => Promise.reject(left));

useFakeClock();

/** Work that was handed the signal of somebody who has left fails with its reason, as its own error. */
describe('work that failed since its client has left', () => {
  it('is not repeated, whatever retryIf says', async () => {
    const retryIf = vi.fn(() => true);
    const events = new EventRecorder();
    leave.mockClear();

    expect(await errorOf(new RetryPolicy({ attempts: 3, retryIf }).execute(leave))).toBe(left);
    events.stop();
    expect(leave).toHaveBeenCalledOnce();
    expect(retryIf).not.toHaveBeenCalled();
    expect(events.types).toEqual([]);
  });

  it('is not answered for, whatever handleIf says', async () => {
    const answer = vi.fn();
    const handleIf = vi.fn(() => true);

    expect(await errorOf(new FallbackPolicy(answer, { handleIf }).execute(leave))).toBe(left);
    expect(answer).not.toHaveBeenCalled();
    expect(handleIf).not.toHaveBeenCalled();
  });

  it('counts in no breaker, whatever recordIf says, and a probe may follow', async () => {
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1, openDuration: 0, recordIf: () => true });
    expect(await errorOf(breaker.execute(leave))).toBe(left);
    expect(breaker.stats.total).toBe(0);
    breaker.trip();
    expect(await errorOf(breaker.execute(leave))).toBe(left);

    expect(breaker.state).toBe('half-open');
    expect(await breaker.execute(() => 'fine')).toBe('fine');
    expect(breaker.state).toBe('closed');
  });
});
