import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { passQuickly, useFakeClock } from '../../test/fake-clock.js';
import { microtasks } from '../../test/outcome.js';
import { WatchedController } from '../../test/watched-signal.js';
import { SectionFailedError } from '../errors.js';
import { EventRecorder } from '../testing/index.js';
import type { DegradedSection } from './degraded.js';
import { fanOut } from './fan-out.js';
import type { PartialResponse } from './partial-response.js';
import { optional, required, type Section } from './section.js';

useFakeClock();

const WORKS = ['value', 'throw', 'promise', 'rejection', 'slow', 'slow failure', 'hang', 'honour'] as const;
const FALLBACKS = ['value', 'function', 'throws', 'promise'] as const;
const REASONS = ['upstream_timeout', 'budget_exhausted', 'upstream_error', 'skipped'];
const left = new Error('left');
const down = new Error('down');

interface Recipe {
  readonly work: (typeof WORKS)[number];
  readonly ms: number;
  readonly timeout: number | undefined;
  readonly isRequired: boolean;
  readonly fallback: (typeof FALLBACKS)[number];
  /** Bits: which of the sections before. */
  readonly after: number;
}

interface Plan {
  readonly sections: readonly Recipe[];
  readonly budget: number;
  readonly concurrency: number;
  readonly minimum: 0 | undefined;
  readonly onRequiredFailure: 'cancel' | 'settle';
  readonly abortAt: number | undefined;
}

const recipe: fc.Arbitrary<Recipe> = fc.record({
  work: fc.constantFrom(...WORKS),
  ms: fc.integer({ min: 1, max: 12 }),
  timeout: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  isRequired: fc.integer({ min: 0, max: 5 }).map((side) => side === 0),
  fallback: fc.oneof({ weight: 8, arbitrary: fc.constantFrom('value', 'function') }, fc.constantFrom(...FALLBACKS)),
  after: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(63)),
});

const plan: fc.Arbitrary<Plan> = fc.record({
  sections: fc.array(recipe, { minLength: 1, maxLength: 6 }),
  budget: fc.integer({ min: 1, max: 30 }),
  concurrency: fc.constantFrom(1, 2, 3, Infinity),
  minimum: fc.constantFrom(0, undefined),
  onRequiredFailure: fc.constantFrom('cancel', 'settle'),
  abortAt: fc.option(fc.nat(30), { nil: undefined, freq: 3 }),
});

class Trial {
  private readonly caller = new WatchedController();
  private readonly recorder = new EventRecorder();
  private readonly sections: Record<string, Section<unknown>> = {};
  /** Sections that run and were not given up. */
  private readonly running = new Set<number>();
  private readonly runs = new Set<number>();
  private sleeping = 0;
  private settled = 0;
  /** What is found wrong where an exception would be taken for the failure of a section. */
  private readonly problems: string[] = [];
  private page: PartialResponse<Record<string, unknown>> | undefined;
  private error: unknown;

  constructor(private readonly plan: Plan) {
    plan.sections.forEach((_, at) => this.declare(at));
  }

  async run(): Promise<void> {
    const { budget, concurrency, minimum, onRequiredFailure, abortAt } = this.plan;
    const options = { budget, concurrency, minimum, onRequiredFailure, signal: this.caller.signal };
    void fanOut(this.sections, options).then(
      (page) => this.onEnd(() => (this.page = page)),
      (error: unknown) => this.onEnd(() => (this.error = error)),
    );
    for (let ms = 0; ms <= budget; ms++) {
      if (ms === abortAt) await this.leave();
      if (ms < budget) await passQuickly(1);
    }
    expect(this.settled, 'settled in time').toBe(1);
    await passQuickly(12);
    this.recorder.stop();
    expect([this.settled, this.sleeping, vi.getTimerCount()]).toEqual([1, 0, 0]);
    expect(this.problems).toEqual([]);
    if (this.page === undefined) this.checkError();
    else this.checkPage(this.page);
  }

  private declare(at: number): void {
    const { isRequired, fallback, timeout, after } = this.plan.sections[at] as Recipe;
    const before = Array.from({ length: at }, (_, index) => index).filter((index) => (after >> index) % 2 === 1);
    const options = {
      timeout,
      after: Object.fromEntries(before.map((index) => [`in${index}`, this.sections[`s${index}`] as Section<unknown>])),
    };
    const run = (context: object): unknown => {
      const given = before.map((index) => (context as Record<string, unknown>)[`in${index}`]);
      this.claim(
        given.every((value, place) => value === `own ${before[place]}`),
        'has what it comes after',
      );
      return this.work(at, (context as { signal: AbortSignal }).signal);
    };
    const section = isRequired
      ? required(run, options)
      : optional<unknown, unknown>(run, { ...options, fallback: fallbackOf(fallback, at) });
    this.sections[`s${at}`] = section as Section<unknown>;
  }

  private work(at: number, signal: AbortSignal): unknown {
    const { work, ms } = this.plan.sections[at] as Recipe;
    this.claim(!this.runs.has(at), 'runs once');
    this.runs.add(at);
    this.running.add(at);
    this.claim(this.running.size <= this.plan.concurrency, 'no more run at once than asked for');
    signal.addEventListener('abort', () => this.running.delete(at), { once: true });
    const end = (fails: boolean): string => {
      this.running.delete(at);
      if (fails) throw down;
      return `own ${at}`;
    };
    if (work === 'value' || work === 'throw') return end(work === 'throw');
    if (work === 'promise' || work === 'rejection') return Promise.resolve().then(() => end(work === 'rejection'));
    if (work === 'hang') return new Promise(() => {});
    if (work === 'honour') {
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    }
    return this.sleep(ms).then(() => end(work === 'slow failure'));
  }

  private sleep(ms: number): Promise<void> {
    this.sleeping += 1;

    return new Promise((resolve) => {
      setTimeout(() => {
        this.sleeping -= 1;
        resolve();
      }, ms);
    });
  }

  /** Sections that need no time, one after the other, have as many hops each. */
  private async standstill(): Promise<void> {
    for (const _ of this.plan.sections) await microtasks();
  }

  private claim(holds: boolean, what: string): void {
    if (!holds) this.problems.push(what);
  }

  private async leave(): Promise<void> {
    await this.standstill();
    const wasPending = this.settled === 0;
    this.caller.abort(left);
    await microtasks();
    if (wasPending) expect([this.settled, this.error]).toEqual([1, left]);
  }

  /** Whatever is held for the answer is given back by now; only the sleep of sections' own work may last. */
  private onEnd(note: () => void): void {
    note();
    this.settled += 1;
    this.claim(vi.getTimerCount() === this.sleeping, 'no timer');
    this.claim(this.caller.listeners === 0, 'no listener');
    this.claim(this.running.size === 0, 'no section left to itself');
  }

  private checkError(): void {
    if (this.error === left) return;

    expect(this.error).toBeInstanceOf(SectionFailedError);
    const { section, reason } = this.error as SectionFailedError;
    expect([...Object.keys(this.sections), '*']).toContain(section);
    expect(REASONS).toContain(reason);
    expect(new Set(this.events).size, 'one event each').toBe(this.events.length);
  }

  private checkPage({ data, degraded, partial }: PartialResponse<Record<string, unknown>>): void {
    const keys = Object.keys(this.sections);
    const missing = keys.filter((key, at) => data[key] !== `own ${at}`);
    expect(Object.keys(data)).toEqual(keys);
    expect(degraded.map(({ section }) => section)).toEqual(missing);
    expect(partial).toBe(missing.length > 0);
    expect(this.events.toSorted()).toEqual(missing.toSorted());
    for (const entry of degraded) this.checkMissing(entry, data[entry.section]);
  }

  private checkMissing({ section, reason, waitedMs }: DegradedSection, value: unknown): void {
    const at = Number(section.slice(1));
    const { isRequired, work, timeout = Infinity } = this.plan.sections[at] as Recipe;
    expect(value).toBe(`fallback ${at}`);
    expect(isRequired).toBe(false);
    expect(REASONS).toContain(reason);
    expect(reason === 'upstream_timeout' || reason === 'upstream_error', 'ran').toBe(this.runs.has(at));
    if (reason === 'upstream_error') expect(['throw', 'rejection', 'slow failure']).toContain(work);
    expect(waitedMs).toBeLessThanOrEqual(Math.min(timeout, this.plan.budget));
  }

  private get events(): string[] {
    return this.recorder.of('degraded').map(({ section }) => section);
  }
}

function fallbackOf(kind: Recipe['fallback'], at: number): unknown {
  if (kind === 'value') return `fallback ${at}`;
  if (kind === 'function') return () => `fallback ${at}`;
  if (kind === 'promise') return () => Promise.reject(down);

  return () => {
    throw down;
  };
}

describe('answers from sections of any kind', () => {
  it(
    'settle once and in time, tell of all that is missing, and leave nothing behind',
    { timeout: 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(plan, async (given) => new Trial(given).run()),
        { numRuns: 1_000 },
      );
    },
  );
});
