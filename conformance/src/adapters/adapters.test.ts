import { describe, expect, it } from 'vitest';
import type { Adapter } from '../adapter.js';
import { InstalledClock } from '../virtual-clock.js';
import { observe } from '../observed.js';
import { LIBRARIES } from '../libraries.js';
import { BREAKER, fail, failing, fine, hanging } from '../works.js';

const [MAJOR = 0] = process.versions.node.split('.').map(Number);
const MISSING = MAJOR < 22 ? ' (skipped: cockatiel, opossum, undici and the p- packages need Node 22)' : '';
const BACKOFF = { delayMs: 10, factor: 2, maxDelayMs: 100, jitter: false };

async function withClock(run: (clock: InstalledClock) => Promise<void>): Promise<void> {
  const clock = new InstalledClock();
  try {
    await run(clock);
  } finally {
    clock.uninstall();
  }
}

/** One check for each feature: that the adapter reaches it at all. What the library makes of it is the report's. */
const REACHES: Readonly<Partial<Record<keyof Adapter, (library: Adapter, clock: InstalledClock) => Promise<void>>>> = {
  retry: async (library, clock) => {
    let calls = 0;
    const work = (): Promise<string> => ((calls += 1) < 3 ? failing() : fine());
    const call = observe(library.retry?.({ attempts: 3, backoff: BACKOFF }).run(work) ?? failing());
    await clock.tick(30);
    expect([call.value, calls]).toEqual(['fine', 3]);
  },
  timeout: async (library, clock) => {
    const call = observe(library.timeout?.(100).run(hanging) ?? failing());
    await clock.tick(100);
    expect(library.isTimeout?.(call.error)).toBe(true);
  },
  breaker: async (library, clock) => {
    const breaker = library.breaker?.({ ...BREAKER });
    if (breaker === undefined) return;
    await fail(breaker, 4);
    const call = observe(breaker.run(fine));
    await clock.settle();
    expect([breaker.state(), library.refusal?.(call.error)]).toEqual(['open', expect.any(Object)]);
  },
  bulkhead: async (library, clock) => {
    const bulkhead = library.bulkhead?.({ limit: 1, queue: 0 });
    void observe(bulkhead?.run(hanging) ?? failing());
    await clock.settle();
    expect(bulkhead?.running()).toBe(1);
  },
  rateLimit: async (library, clock) => {
    // A library that lets calls wait, or one that refuses them.
    const maxWaitMs = library.name === 'nestjs-resilience' ? 0 : 10_000;
    const call = observe(library.rateLimit?.({ limit: 1, intervalMs: 1_000, maxWaitMs }).run(fine) ?? failing());
    await clock.settle();
    expect(call.value).toBe('fine');
  },
  fallback: async (library, clock) => {
    const call = observe(library.fallback?.({ answer: () => 'answer' }).run<unknown>(failing) ?? failing());
    await clock.settle();
    expect(call.value).toBe('answer');
  },
};

describe.skipIf(MISSING !== '')(`The adapter${MISSING}`, () => {
  const cases = LIBRARIES.flatMap((library) =>
    Object.entries(REACHES).map(([feature, check]) => ({ library, feature, check })),
  );

  it.each(cases)('of $library.name reaches its $feature, or leaves it out', async ({ library, feature, check }) => {
    const adapter = await library.load();
    expect(adapter.name).toBe(library.name);
    if (adapter[feature as keyof Adapter] !== undefined) await withClock((clock) => check(adapter, clock));
  });
});
