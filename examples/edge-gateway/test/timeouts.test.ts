import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchJson } from '../lib/fetch-with-timeout.js';
import { createDeadline } from '../lib/deadline.js';

/** A fetch that answers after `delayMs`, respecting AbortSignal. */
function slowFetch(delayMs: number, body: unknown = { ok: true }) {
  return vi.fn(
    (_url: string, init?: RequestInit) =>
      new Promise<Response>((resolve, reject) => {
        const id = setTimeout(() => resolve(new Response(JSON.stringify(body), { status: 200 })), delayMs);
        init?.signal?.addEventListener('abort', () => {
          clearTimeout(id);
          const err = new Error('aborted');
          // TimeoutError is what AbortSignal.timeout surfaces.
          err.name = (init.signal as AbortSignal).reason?.name ?? 'AbortError';
          reject(err);
        });
      }),
  );
}

describe('fetchJson', () => {
  const realFetch = globalThis.fetch;
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    globalThis.fetch = realFetch;
  });

  it('returns the value when the upstream answers inside the timeout', async () => {
    globalThis.fetch = slowFetch(50, { flagA: true }) as unknown as typeof fetch;
    const promise = fetchJson<{ flagA: boolean }>('https://x.test', {}, 250);
    await vi.advanceTimersByTimeAsync(60);
    await expect(promise).resolves.toMatchObject({ ok: true, value: { flagA: true } });
  });

  it('reports upstream_timeout when the upstream is slower than the budget', async () => {
    globalThis.fetch = slowFetch(5_000) as unknown as typeof fetch;
    const promise = fetchJson('https://x.test', {}, 250);
    await vi.advanceTimersByTimeAsync(300);
    await expect(promise).resolves.toMatchObject({ ok: false, reason: 'upstream_timeout' });
  });

  it('aborts the upstream rather than abandoning it', async () => {
    const fake = slowFetch(5_000);
    globalThis.fetch = fake as unknown as typeof fetch;
    const promise = fetchJson('https://x.test', {}, 100);
    await vi.advanceTimersByTimeAsync(150);
    await promise;
    const passedSignal = fake.mock.calls[0]?.[1]?.signal as AbortSignal;
    expect(passedSignal.aborted).toBe(true);
  });

  it('refuses immediately when the budget is already spent', async () => {
    const fake = slowFetch(10);
    globalThis.fetch = fake as unknown as typeof fetch;
    const result = await fetchJson('https://x.test', {}, 0);
    expect(result).toMatchObject({ ok: false, reason: 'budget_exhausted' });
    expect(fake).not.toHaveBeenCalled();
  });
});

describe('createDeadline', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('clamps a step timeout to the remaining budget minus the reserve', () => {
    const deadline = createDeadline(1_500);
    vi.advanceTimersByTime(600);
    // 1500 - 600 elapsed - 800 reserve = 100 spendable, so 250 is clamped.
    expect(deadline.allow(250, 800)).toBe(100);
  });

  it('never lends out the reserve', () => {
    const deadline = createDeadline(1_000);
    vi.advanceTimersByTime(300);
    expect(deadline.allow(500, 800)).toBe(0);
  });
});
