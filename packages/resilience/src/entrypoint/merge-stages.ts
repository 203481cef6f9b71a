import type { BulkheadOptions, CircuitBreakerOptions, Duration, OutboundRateLimitOptions } from 'holdfast';
import type { AttemptTimeout, ResilienceDefaults } from '../resilience.options.js';
import { given } from '../stage-options.js';
import type { DeclaredStages, FallbackSettings, RetrySettings, Setting, StageSettings } from './metadata.js';

/**
 * How the settings of one handler come together, stage by stage: handler before class, decorator before preset, and
 * the module's defaults last. Pure: it reads settings and returns new ones, and never writes to what it was given.
 */

/** One place that sets stages. Levels are listed with the most specific first. */
export interface Level {
  readonly on: 'handler' | 'class';
  /** The preset's name; `undefined` for decorators. */
  readonly preset: string | undefined;
  readonly stages: DeclaredStages;
}

/** A breaker, a bulkhead or a rate limit, and the name under which it is shared. */
export interface NamedStage<Options> {
  readonly name: string;
  /** Without the name. */
  readonly options: Omit<Options, 'name'>;
  /** Who gave the name: an explicit one, a preset, or nobody, so that it belongs to the handler alone. */
  readonly namedBy: 'name' | 'preset' | 'handler';
  /** Whether it is told apart from a mere reference, which only says whose name it is. */
  readonly defines: boolean;
  /** The place that named it. */
  readonly setting: Setting<unknown>;
}

export interface MergedFallback extends FallbackSettings {
  /** Decides what its handler is called with. */
  readonly from: 'decorator' | 'preset';
}

export interface MergedStages {
  /** `budget.value` is undefined when the stage is on and nobody says how long. */
  readonly budget: Setting<Duration | undefined> | undefined;
  readonly retry: RetrySettings | undefined;
  /** `timeout.value` is undefined when the stage is on and nobody says how long. */
  readonly timeout: Setting<AttemptTimeout | undefined> | undefined;
  readonly circuitBreaker: NamedStage<CircuitBreakerOptions> | undefined;
  readonly bulkhead: NamedStage<BulkheadOptions> | undefined;
  readonly outboundRateLimit: NamedStage<OutboundRateLimitOptions> | undefined;
  readonly fallback: MergedFallback | undefined;
  /** Whether a `@Retry()` stands on the handler itself. */
  readonly retryOnHandler: boolean;
}

export interface MergeInput {
  readonly levels: readonly Level[];
  readonly defaults: ResilienceDefaults;
  /** The name of what belongs to the handler alone. */
  readonly source: string;
}

export function mergeStages({ levels, defaults, source }: MergeInput): MergedStages {
  return {
    budget: mergeLimit(settingsOf(levels, 'budget'), defaults.budget),
    retry: mergeRetry(settingsOf(levels, 'retry'), defaults.retry),
    timeout: mergeLimit(settingsOf(levels, 'timeout'), defaults.timeout),
    circuitBreaker: mergeNamed<CircuitBreakerOptions>(settingsOf(levels, 'circuitBreaker'), source),
    bulkhead: mergeNamed<BulkheadOptions>(settingsOf(levels, 'bulkhead'), source),
    outboundRateLimit: mergeNamed<OutboundRateLimitOptions>(settingsOf(levels, 'outboundRateLimit'), source),
    fallback: mergeFallback(settingsOf(levels, 'fallback')),
    retryOnHandler: levels.some(({ on, preset, stages }) => on === 'handler' && !preset && stages.retry !== undefined),
  };
}

/** Whether something ends a call that hangs. */
export function hasLimit({ budget, timeout }: Pick<MergedStages, 'budget' | 'timeout'>): boolean {
  return budget !== undefined || timeout !== undefined;
}

/** What one level says about one stage. */
interface Placed<T> {
  readonly level: Level;
  readonly setting: Setting<T>;
}

function settingsOf<Stage extends keyof StageSettings>(
  levels: readonly Level[],
  stage: Stage,
): Placed<StageSettings[Stage]>[] {
  return levels.flatMap((level) => {
    const setting = level.stages[stage] as Setting<StageSettings[Stage]> | undefined;
    return setting === undefined ? [] : [{ level, setting }];
  });
}

/** Decorators refine each other down to the first preset, which is taken whole; nothing below it counts. */
function mergeRetry(
  placed: readonly Placed<StageSettings['retry']>[],
  defaults: ResilienceDefaults['retry'],
): RetrySettings | undefined {
  if (placed.length === 0) return undefined;

  const counting = downTo(placed, ({ level }) => level.preset !== undefined);
  return counting.reduceRight<RetrySettings>(
    (under, { setting }) => overlayRetry(under, setting.value),
    overlayRetry(undefined, defaults),
  );
}

/** The first of these that has what it takes to end the list, and those before it. */
function downTo<T>(placed: readonly Placed<T>[], ends: (one: Placed<T>) => boolean): readonly Placed<T>[] {
  const last = placed.findIndex(ends);
  return last < 0 ? placed : placed.slice(0, last + 1);
}

/** Puts the fields that `over` sets over those below; objects of `backoff` likewise. `false` is one attempt. */
export function overlayRetry(
  under: StageSettings['retry'] | undefined,
  over: StageSettings['retry'] | undefined,
): RetrySettings {
  const below = retryFields(under);
  const fields = retryFields(over);
  const merged = { ...given(below), ...given(fields) };
  if (typeof fields.backoff !== 'object' || typeof below.backoff !== 'object') return merged;

  return { ...merged, backoff: { ...given(below.backoff), ...given(fields.backoff) } };
}

function retryFields(settings: StageSettings['retry'] | undefined): RetrySettings {
  if (settings === false) return { attempts: 1 };
  if (typeof settings === 'number') return { attempts: settings };

  return settings ?? {};
}

/** The most specific one that says how long; a bare decorator only turns the stage on. */
function mergeLimit<T>(
  placed: readonly Placed<T | undefined>[],
  ofDefaults: T | undefined,
): Setting<T | undefined> | undefined {
  if (placed.length === 0) return undefined;

  return placed.find(({ setting }) => setting.value !== undefined)?.setting ?? { value: ofDefaults };
}

/** Refines downwards until something has a name: a preset, or an explicit name. */
function mergeNamed<Options extends { readonly name?: string | undefined }>(
  placed: readonly Placed<string | Options>[],
  source: string,
): NamedStage<Options> | undefined {
  const [mostSpecific] = placed;
  if (mostSpecific === undefined) return undefined;

  const counting = downTo(
    placed,
    ({ level, setting }) => level.preset !== undefined || nameIn(setting.value) !== undefined,
  );
  const naming = counting.at(-1) ?? mostSpecific;
  const explicit = nameIn(naming.setting.value);
  const options = counting.reduceRight<object>(
    (under, { level, setting }) => ({ ...under, ...fieldsOf(level, setting) }),
    {},
  );

  return {
    name: explicit ?? naming.level.preset ?? source,
    options: options as Omit<Options, 'name'>,
    namedBy: explicit !== undefined ? 'name' : naming.level.preset !== undefined ? 'preset' : 'handler',
    defines: explicit === undefined || Object.keys(given(options)).length > 0,
    setting: naming.setting,
  };
}

function nameIn(value: string | { readonly name?: string | undefined }): string | undefined {
  return typeof value === 'string' ? value : value.name;
}

/** In a preset an explicit `undefined` stays: it erases the default for that field. */
function fieldsOf(level: Level, { value }: Setting<string | { readonly name?: string | undefined }>): object {
  if (typeof value === 'string') return {};

  const { name: _name, ...fields } = value;
  return level.preset === undefined ? given(fields) : fields;
}

/** The most specific one wins; one on the handler keeps the condition of the class's where it has none. */
function mergeFallback(placed: readonly Placed<FallbackSettings>[]): MergedFallback | undefined {
  const [winner] = placed;
  if (winner === undefined) return undefined;

  const settings = winner.setting.value;
  if (winner.level.preset !== undefined) return { ...settings, from: 'preset' };

  const ofClass = placed.find(({ level }) => level.on === 'class' && level.preset === undefined);
  const handleIf = settings.handleIf ?? ofClass?.setting.value.handleIf;
  return { handler: settings.handler, from: 'decorator', ...(handleIf && { handleIf }) };
}
