import {
  OptionError,
  parseDuration,
  refusePolicy,
  rejectUnknown,
  requireBoolean,
  requireDeadlineHeader,
  requireName,
  requireObject,
  requireOneOf,
  resolveBulkheadOptions,
  resolveCircuitBreakerOptions,
  resolveRetryOptions,
  show,
  withPath,
} from 'holdfast/binding';
import type { BulkheadOptions, CircuitBreakerOptions } from 'holdfast';
import { readDegraded, type DegradedSettings } from './degradation/degraded-options.js';
import { overlayRetry } from './entrypoint/merge-stages.js';
import type { DeclaredStages, RetrySettings } from './entrypoint/metadata.js';
import type { AbortOnDisconnect, ResilienceDefaults, ResilienceModuleOptions } from './resilience.options.js';
import { readStages } from './stage-options.js';

/** The module's options, checked: every preset and every default, used or not. Nothing is written to what was given. */
export interface Settings {
  readonly defaults: ResilienceDefaults;
  readonly presets: ReadonlyMap<string, DeclaredStages>;
  readonly mapErrors: boolean;
  readonly isGlobal: boolean | undefined;
  readonly strictNames: boolean;
  readonly clientTimeoutMs: number | undefined;
  /** In lower case. */
  readonly deadlineHeaders: readonly string[];
  readonly deadlineMarginMs: number;
  readonly abortOnDisconnect: AbortOnDisconnect;
  readonly degraded: DegradedSettings;
  /** `undefined` when the engine's default holds. */
  readonly minRemainingMs: number | undefined;
  /** Where `idempotent` was written although only a decorator can say it, such as `presets.carrier`. */
  readonly strayIdempotent: readonly string[];
  /** Limits of presets that are there without a value, such as `presets.carrier.timeout`. */
  readonly unsetLimits: readonly string[];
}

/** What is legal, and worth a warning. */
interface Oddities {
  readonly strayIdempotent: string[];
  readonly unsetLimits: string[];
}

export const SETTINGS = [
  'defaults',
  'presets',
  'mapErrors',
  'isGlobal',
  'clientTimeout',
  'deadlineHeaders',
  'deadlineMargin',
  'minRemaining',
  'abortOnDisconnect',
  'degraded',
  'strictNames',
];
const DEFAULTS_KNOWN = ['budget', 'retry', 'timeout', 'circuitBreaker', 'bulkhead'];
const LIMITS = ['budget', 'timeout'] as const;

/** @throws TypeError naming the option, such as `presets.carrier.retry.attempts`. */
export function readSettings(options: ResilienceModuleOptions): Settings {
  requireObject(
    options,
    '',
    'ResilienceModule takes { defaults, presets, … }; a factory has to return such an object.',
  );
  rejectUnknown(options, SETTINGS);
  const odd: Oddities = { strayIdempotent: [], unsetLimits: [] };
  const { presets = {}, mapErrors = true, isGlobal, strictNames = false, clientTimeout } = options;
  const { minRemaining, deadlineHeaders = [], deadlineMargin = 0, abortOnDisconnect = 'safe' } = options;
  const minRemainingMs = minRemaining === undefined ? undefined : parseDuration(minRemaining, 'minRemaining');
  const defaults = readDefaults(options.defaults === undefined ? {} : options.defaults, odd);

  return {
    defaults,
    presets: readPresets(presets, { defaults, minRemainingMs }, odd),
    mapErrors: requireBoolean(mapErrors, 'mapErrors'),
    isGlobal: isGlobal === undefined ? undefined : requireBoolean(isGlobal, 'isGlobal'),
    strictNames: requireBoolean(strictNames, 'strictNames'),
    clientTimeoutMs:
      clientTimeout === undefined ? undefined : parseDuration(clientTimeout, 'clientTimeout', { positive: true }),
    minRemainingMs,
    deadlineHeaders: readHeaders(deadlineHeaders),
    deadlineMarginMs: parseDuration(deadlineMargin, 'deadlineMargin'),
    abortOnDisconnect: requireOneOf(abortOnDisconnect, 'abortOnDisconnect', ['safe', 'always', 'never']),
    degraded: withPath('degraded', () => readDegraded(options.degraded)),
    ...odd,
  };
}

function readHeaders(names: unknown): readonly string[] {
  if (Array.isArray(names)) return names.map((name, index) => requireDeadlineHeader(name, `deadlineHeaders[${index}]`));

  throw new OptionError(
    'deadlineHeaders',
    `expected an array of header names, got ${show(names)}. Use ['x-request-timeout-ms'], for example.`,
  );
}

function readDefaults(defaults: ResilienceDefaults, odd: Oddities): ResilienceDefaults {
  return withPath('defaults', () => {
    requireObject(defaults, '', "Use { timeout: '5s' }, for example.");
    rejectUnknown(defaults, DEFAULTS_KNOWN);
    const own = withoutIdempotent(defaults, () => odd.strayIdempotent.push('defaults'));
    refuseFalse(own.retry);
    refuseNamed('circuitBreaker', own.circuitBreaker);
    refuseNamed('bulkhead', own.bulkhead);
    readStages(own);

    return own;
  });
}

/** A default never decides whether there is a stage. */
function refuseFalse(retry: unknown): void {
  if (retry !== false) return;

  throw new OptionError(
    'retry',
    'expected a number of attempts or an options object, got false. Leave it out instead.',
  );
}

function refuseNamed(stage: 'circuitBreaker' | 'bulkhead', options: unknown): void {
  withPath(stage, () => refusePolicy(options, 'options without a name'));
  const name: unknown = typeof options === 'object' && options !== null && 'name' in options ? options.name : options;
  if (typeof name !== 'string') return;

  throw new OptionError(
    stage,
    `given the name ${show(name)}, but a default has none. Name it in a preset or a decorator.`,
  );
}

function readPresets(
  presets: NonNullable<ResilienceModuleOptions['presets']>,
  background: Background,
  odd: Oddities,
): ReadonlyMap<string, DeclaredStages> {
  requireObject(presets, 'presets', "Use { carrier: { timeout: '2s' } }, for example.");

  return new Map(
    Object.entries(presets).map(([name, preset]) => {
      requireName(name, 'presets');
      const path = `presets.${name}`;
      const stages = withPath(path, () => {
        const declared = readStages(withoutIdempotent(preset, () => odd.strayIdempotent.push(path)));
        for (const limit of LIMITS) {
          if (limit in preset && preset[limit] === undefined) odd.unsetLimits.push(`${path}.${limit}`);
        }
        checkOverDefaults(declared, background);
        return declared;
      });
      return [name, stages];
    }),
  );
}

/** What stages are checked against, besides themselves. */
type Background = Pick<Settings, 'defaults' | 'minRemainingMs'>;

/** Checks what only shows once the defaults are under it. */
export function checkOverDefaults(stages: DeclaredStages, { defaults, minRemainingMs }: Background): void {
  const { budget, retry, circuitBreaker, bulkhead } = stages;
  if (budget?.value !== undefined) withPath('budget', () => requireRoom(budget.value, minRemainingMs));
  if (retry !== undefined) withPath('retry', () => resolveRetryOptions(overlayRetry(defaults.retry, retry.value)));
  if (circuitBreaker !== undefined && isDefinition(circuitBreaker.value)) {
    const options: CircuitBreakerOptions = { ...defaults.circuitBreaker, ...circuitBreaker.value };
    withPath('circuitBreaker', () => resolveCircuitBreakerOptions(options));
  }
  if (bulkhead !== undefined && isDefinition(bulkhead.value)) {
    const options: BulkheadOptions = { ...defaults.bulkhead, ...bulkhead.value };
    withPath('bulkhead', () => resolveBulkheadOptions(options));
  }
}

/** The budget in milliseconds, in which something can be started. */
export function requireRoom(budget: unknown, minRemainingMs: number | undefined): number {
  const budgetMs = parseDuration(budget, '', { positive: true });
  if (minRemainingMs === undefined || budgetMs > minRemainingMs) return budgetMs;

  throw new OptionError(
    '',
    `${budgetMs} ms are not more than the module's minRemaining of ${minRemainingMs} ms, so nothing would start. ` +
      'Raise the budget, or lower minRemaining.',
  );
}

function isDefinition<T extends { readonly name?: string | undefined }>(value: string | T): value is T {
  return typeof value !== 'string' && (value.name === undefined || Object.keys(value).length > 1);
}

/** A preset cannot declare every handler that uses it safe to repeat. */
function withoutIdempotent<T extends { readonly retry?: unknown }>(stages: T, onFound: () => void): T {
  const retry: unknown = typeof stages === 'object' && stages !== null ? stages.retry : undefined;
  if (typeof retry !== 'object' || retry === null || !('idempotent' in retry)) return stages;

  onFound();
  const { idempotent: _stripped, ...rest } = retry as RetrySettings;
  return { ...stages, retry: rest };
}
