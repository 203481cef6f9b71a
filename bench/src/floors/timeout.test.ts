import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withTimeoutInScope } from './timeout-scope.js';
import { withTimeoutSignal } from './timeout-signal.js';
import { withTimeout } from './timeout.js';

// A floor that promised less than the policy would make it look slow.
const floors = [
  ['by hand', withTimeout],
  ['by hand in a scope', withTimeoutInScope],
  ['by hand with a signal', withTimeoutSignal],
] as const;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe.each(floors)('a timeout %s', (_name, run) => {
  it('gives what the work gives, and leaves no timer', async () => {
    await expect(run(async () => 'answer', 100)).resolves.toBe('answer');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('passes on what the work rejects with, and leaves no timer', async () => {
    await expect(run(() => Promise.reject(new Error('down')), 100)).rejects.toThrow('down');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('passes on what the work throws at once, and leaves no timer', async () => {
    const work = (): Promise<never> => {
      throw new Error('broken');
    };

    await expect(run(work, 100)).rejects.toThrow('broken');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects at the limit whatever the work does, and handles what it does later', async () => {
    let failLate: (error: Error) => void = () => {};
    const late = new Promise<never>((_, reject) => (failLate = reject));
    const settled = vi.fn<(outcome: unknown) => void>();
    void run(() => late, 100).then(settled, settled);

    await vi.advanceTimersByTimeAsync(99);
    expect(settled).not.toHaveBeenCalled();

    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toHaveBeenCalledExactlyOnceWith(new Error('Timed out after 100ms'));

    failLate(new Error('late'));
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).toHaveBeenCalledOnce();
  });
});

describe('the signal of a timeout by hand', () => {
  it('aborts at the limit with the error of the call', async () => {
    let given: AbortSignal | undefined;
    const call = withTimeoutSignal((signal) => {
      given = signal;

      return new Promise<never>(() => {});
    }, 100).catch((error: unknown) => error);

    await vi.advanceTimersByTimeAsync(99);
    expect(given?.aborted).toBe(false);

    await vi.advanceTimersByTimeAsync(1);
    expect(given?.reason).toBe(await call);
  });
});
