import {
  adaptive,
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  collect,
  createPolicy,
  degradedHeaders,
  FallbackPolicy,
  fanOut,
  optional,
  OutboundRateLimitPolicy,
  required,
  RetryPolicy,
  TimeoutPolicy,
  type ExecuteOptions,
} from 'holdfast';
import {
  parseDuration,
  resolveBackoff,
  resolveBulkheadOptions,
  resolveCircuitBreakerOptions,
  resolveFallbackOptions,
  resolveOutboundRateLimitOptions,
  resolveRetryOptions,
  type Backoff,
} from 'holdfast/binding';
import { describe, expect, it } from 'vitest';
import { pages, read, tablesOf } from './pages.mjs';
import { literalOf, PHRASES } from './phrases.ts';

type Options = Readonly<Record<string, unknown>>;

/** The code that a table of options describes. */
interface Subject {
  /** Throws, or rejects, when the options are bad. */
  make(options: Options): unknown;
  /** What an option is without being set; `undefined` when it is off. */
  defaults(): Options;
  /** Options that cannot be left out. */
  readonly required?: Options;
}

/** What they come to is tested with the answers themselves. */
const ANSWER_DEFAULTS = { name: 'fan-out', reserve: 0, margin: 20, detached: false };

const SUBJECTS: Readonly<Record<string, Subject>> = {
  RetryOptions: { make: (options) => new RetryPolicy(options), defaults: () => ({ ...resolveRetryOptions({}) }) },
  BackoffOptions: {
    make: (options) => new RetryPolicy({ backoff: options }),
    defaults: () => {
      const { delayMs, maxDelayMs, ...others } = resolveBackoff({});
      return { delay: delayMs, maxDelay: maxDelayMs, ...others };
    },
  },
  TimeoutOptions: {
    make: (options) => new TimeoutPolicy(options as never),
    defaults: () => ({ name: new TimeoutPolicy(1).name }),
    required: { timeout: '1s' },
  },
  BudgetOptions: {
    make: (options) => new BudgetPolicy(options as never),
    defaults: () => ({ name: new BudgetPolicy(1).name, minRemaining: 1 }),
    required: { budget: '1w' },
  },
  AdaptiveTimeoutOptions: {
    make: (options) => adaptive({ min: 0.5, initial: '1s', max: '1w', ...options }),
    defaults: () => ({
      estimator: 'quantile',
      samples: 10,
      factor: 2,
      quantile: 0.99,
      halfLife: 25,
      initial: adaptive().limitMs,
      min: 10,
      max: adaptive().maxMs,
      shadow: false,
    }),
  },
  CircuitBreakerOptions: {
    make: (options) => new CircuitBreakerPolicy(withItsPair(options)),
    defaults: () => ({ name: new CircuitBreakerPolicy().name, ...resolveCircuitBreakerOptions({}) }),
  },
  SlidingWindowOptions: {
    make: (options) => new CircuitBreakerPolicy({ minimumCalls: 1, slidingWindow: options as never }),
    defaults: () => ({}),
    required: { type: 'count', size: 20 },
  },
  OpenBackoffOptions: {
    make: (options) => new CircuitBreakerPolicy({ openBackoff: options }),
    defaults: () => ({ ...resolveCircuitBreakerOptions({ openBackoff: {} }).openBackoff }),
  },
  BulkheadOptions: {
    make: (options) => new BulkheadPolicy(options),
    defaults: () => ({ ...resolveBulkheadOptions({}) }),
  },
  OutboundRateLimitOptions: {
    make: (options) => new OutboundRateLimitPolicy(options as never),
    defaults: () => ({ ...resolveOutboundRateLimitOptions({ limit: 1, interval: 1 }) }),
    required: { limit: 1, interval: '1s' },
  },
  FallbackOptions: {
    make: (options) => new FallbackPolicy(() => 0, options),
    defaults: () => ({ ...resolveFallbackOptions({}) }),
  },
  FanOutOptions: {
    make: (options) => fanOut({ reviews: optional(() => 4, { fallback: null }) }, options),
    defaults: () => ({ ...ANSWER_DEFAULTS, onRequiredFailure: 'cancel' }),
    required: { budget: '1w', minimum: 0 },
  },
  CollectOptions: {
    make: (options) => collect(options),
    defaults: () => ANSWER_DEFAULTS,
    required: { budget: '1w' },
  },
  RequiredOptions: {
    make: (options) => required(() => 4, options),
    defaults: () => ({ idempotent: required(() => 4).settings.idempotent, onFailure: 'closed' }),
  },
  OptionalOptions: {
    make: (options) => optional(() => 4, options as never),
    defaults: () => ({ idempotent: optional(() => 4, { fallback: 0 }).settings.idempotent, onFailure: 'open' }),
    required: { fallback: null },
  },
  DegradedHeadersOptions: {
    make: (options) => degradedHeaders([], options),
    defaults: () => {
      const headers = degradedHeaders([{ section: 'reviews', reason: 'skipped', waitedMs: 0 }]);
      return { name: Object.keys(headers)[0], cacheControl: headers['cache-control'] };
    },
  },
};

/** These options are refused alone. */
function withItsPair(options: Options): Options {
  const pair = { minimumCalls: 1, slowCallDuration: '1s', slidingWindow: { type: 'time', size: '1m' } };
  const beside = 'slowCallRateThreshold' in options || 'minimumCalls' in options ? pair : { minimumCalls: 1 };

  return { ...beside, ...options };
}

/** Defaults that a table describes in words. */
const IN_WORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  none: (value) => value === undefined,
  off: (value) => value === undefined,
  'the key': (value) => value === undefined,
  'what is left where it is used': (value) => value === undefined,
  'that of the answer': (value) => value === undefined,
  'that of the deadline around, or 1 ms': (value) => value === undefined,
  '1 without a required section, else 0': (value) => value === undefined,
  '502, or a dependency’s 404 or 410': (value) => value === undefined,
  'no limit': (value) => value === undefined,
  'every error but client errors': (value) => {
    const predicate = value as (error: unknown) => boolean;
    return (
      predicate(new Error('down')) &&
      predicate({ status: 503 }) &&
      predicate({ status: 429 }) &&
      !predicate({ status: 404 })
    );
  },
  'exponential, from 200 ms': (value) => {
    const { delayMs, longestHintMs } = value as Backoff;
    return delayMs(1, undefined) < 200 && longestHintMs === resolveBackoff({}).maxDelayMs;
  },
  "`'full'`, or `'none'` with a factor of 1": (value) =>
    value === 'full' &&
    resolveBackoff({ factor: 1 }).jitter === 'none' &&
    resolveBackoff({ factor: 1.1 }).jitter === 'full',
  '`100`, once `slowCallDuration` is set': (value) =>
    value === undefined && resolveCircuitBreakerOptions({ slowCallDuration: 1 }).slowCallRateThreshold === 100,
  // What these two come to depends on the pipeline: the suites of the breaker and the bulkhead test it.
  'the longest of `openDuration`, the timeout inside plus a second, and 30 s': (value) => value === undefined,
  '`true` in `execute()`, `false` at an entrypoint': (value) => value === undefined,
};

const tables = pages().flatMap((path) => tablesOf(read(path)).map((table) => ({ path, ...table })));
const optionTables = tables.filter(({ name }) => name in SUBJECTS);

/** The names that the code lists when it refuses one that is far from all of them. */
async function namesKnownTo(subject: Subject): Promise<string[]> {
  try {
    await subject.make({ ...subject.required, zzzzzzzzzzzzzzzz: 1 });
  } catch (error) {
    return (/Known options: (.*)\.$/.exec((error as Error).message)?.[1] ?? '').split(', ');
  }

  throw new Error('Unknown options are not refused');
}

const unticked = (cell = ''): string => cell.replaceAll('`', '');

describe('tables of options', () => {
  it('stand in the reference, one for each kind', () => {
    const inReference = optionTables.filter(({ path }) => path === 'docs/reference.md').map(({ name }) => name);

    expect(inReference.toSorted()).toEqual(Object.keys(SUBJECTS).toSorted());
  });

  it('stand on the pages of the policies too', () => {
    for (const page of ['retry', 'timeout', 'circuit-breaker', 'bulkhead', 'rate-limit', 'fallback']) {
      expect(optionTables.map(({ path }) => path)).toContain(`docs/${page}.md`);
    }
  });

  describe.each(optionTables)('$name in $path', ({ name, rows }) => {
    const subject = SUBJECTS[name] as Subject;

    it('lists every option, and no other', async () => {
      expect(rows.map((row) => unticked(row.Option)).toSorted()).toEqual((await namesKnownTo(subject)).toSorted());
    });

    it.each(rows)('gives the bounds of $Option', async ({ Option, Takes = '' }) => {
      const phrase = PHRASES[Takes];
      expect(phrase, `“${Takes}” is no known phrase`).toBeDefined();
      const make = async (value: unknown): Promise<unknown> =>
        subject.make({ ...subject.required, ...phrase?.beside, [unticked(Option)]: value });

      for (const value of phrase?.takes ?? []) await expect(make(value), String(value)).resolves.toBeDefined();
      for (const value of phrase?.refuses ?? []) await expect(make(value), String(value)).rejects.toThrow(TypeError);
    });

    it.each(rows)('gives the default of $Option', ({ Option = '', Default = '' }) => {
      const option = unticked(Option);
      if (Default === 'required') {
        const { [option]: _left, ...others } = { ...subject.required };
        expect(() => subject.make(others)).toThrow(TypeError);
        return;
      }

      const actual = subject.defaults()[option];
      const literal = literalOf(Default);
      if (literal === undefined) expect(IN_WORDS[Default]?.(actual), `“${Default}”`).toBe(true);
      else expect(actual).toEqual(likeDefault(literal.value, actual));
    });
  });
});

/** Durations of a table in milliseconds, as the code has them. */
function likeDefault(written: unknown, actual: unknown): unknown {
  return typeof written === 'string' && typeof actual === 'number' ? parseDuration(written, '') : written;
}

describe('the tables of stages and of execution', () => {
  const rowsOf = (name: string): string[] => {
    const table = tables.find((one) => one.name === name);
    return (table?.rows ?? []).map((row) => unticked(Object.values(row)[0])).toSorted();
  };

  it('list every stage', async () => {
    const stages = await namesKnownTo({ make: (options) => createPolicy(options), defaults: () => ({}) });

    expect(rowsOf('StageOptions')).toEqual(stages.toSorted());
  });

  it('list every option of execute()', () => {
    const options = { signal: 1, source: 1, detached: 1, ambient: 1, budget: 1 } satisfies Record<
      keyof ExecuteOptions,
      1
    >;

    expect(rowsOf('ExecuteOptions')).toEqual(Object.keys(options).toSorted());
  });
});
