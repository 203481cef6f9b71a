// #region engine
import { createPolicy } from 'holdfast';
import { EventRecorder, ScriptedDownstream } from 'holdfast/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

it('gives the carrier up at 100 ms, and not before', async () => {
  const carrier = new ScriptedDownstream([{ hang: true }]);
  const policy = createPolicy({ timeout: '100ms' }, 'carrier');
  const events = new EventRecorder(policy);

  const call = policy.execute(carrier.call).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(99);
  expect(carrier.running).toBe(1);
  await vi.advanceTimersByTimeAsync(1);

  expect(await call).toMatchObject({ code: 'TIMEOUT', timeoutMs: 100 });
  expect(carrier.calls[0]?.state).toBe('cancelled');
  expect(events.types).toEqual(['timeout']);
  expect(vi.getTimerCount()).toBe(0);
});
// #endregion
