import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../adapter.js';
import { InstalledClock } from '../virtual-clock.js';
import { observe } from '../observed.js';
import { GUARANTEES } from '../guarantees/index.js';
import { absence, LIBRARIES } from '../libraries.js';
import { resultsOf } from '../results.js';
import { BREAKER, fail, failing, fine, hanging } from '../works.js';

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
    const limit = library.rateLimit?.({ limit: 1, intervalMs: 1_000, maxWaitMs });
    const call = observe(limit?.run(fine) ?? failing());
    await clock.settle();
    expect(call.value).toBe('fine');
  },
  fallback: async (library, clock) => {
    const call = observe(library.fallback?.({ answer: () => 'answer' }).run<unknown>(failing) ?? failing());
    await clock.settle();
    expect(call.value).toBe('answer');
  },
};

const CASES = LIBRARIES.flatMap((library) =>
  Object.entries(REACHES).map(([feature, check]) => ({ library, feature, check, why: absence(library) ?? '' })),
);

describe('The adapter', () => {
  it.for(CASES)('of $library.name reaches its $feature, or leaves it out', async (given, { skip }) => {
    const { library, feature, check, why } = given;
    if (why !== '') skip(why);
    const adapter = await library.load();
    expect(adapter.name).toBe(library.name);
    if (adapter[feature as keyof Adapter] !== undefined) await withClock((clock) => check(adapter, clock));
  });
});

const SIGNS = { holds: 'holds', fails: '**fails**', 'not offered': '–' } as const;

/** A column of the written report, without its head and its sum. */
function reported(name: string): readonly (string | undefined)[] {
  const report = readFileSync(new URL('../../RESULTS.md', import.meta.url), 'utf8');
  const [head = [], , ...rows] = report
    .split('\n')
    .flatMap((line) => (line.startsWith('|') ? [line.split(' | ')] : []));
  const column = head.findIndex((cell) => cell.startsWith(`${name} `));

  return rows.slice(0, -1).map((cells) => cells[column]?.replace(/ \|$/, ''));
}

// All guarantees in one test, in turns of the event loop that take real time.
describe('The verdicts', { timeout: 60_000 }, () => {
  const libraries = LIBRARIES.map((library) => ({ library, why: absence(library) ?? '' }));

  it.for(libraries)('on $library.name are those of the report, in another order too', async (given, { skip }) => {
    if (given.why !== '') skip(given.why);
    const { verdicts } = await resultsOf(await given.library.load(), GUARANTEES.toReversed());
    expect(verdicts.toReversed().map(({ kind }) => SIGNS[kind])).toEqual(reported(given.library.name));
  });
});
