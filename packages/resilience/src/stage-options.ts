import {
  CIRCUIT_BREAKER_FIELDS,
  OptionError,
  parseDuration,
  readFallback,
  refuseInherited,
  refusePolicy,
  rejectUnknown,
  requireBoolean,
  requireFunction,
  requireName,
  requireObject,
  resolveBulkheadOptions,
  resolveCircuitBreakerOptions,
  resolveOutboundRateLimitOptions,
  resolveRetryOptions,
  resolveTimeout,
  show,
  withPath,
} from 'holdfast/binding';
import type { BulkheadOptions, CircuitBreakerOptions, FallbackHandler, OutboundRateLimitOptions } from 'holdfast';
import type { DeclaredStages, FallbackSettings, RetrySettings, Setting, StageSettings } from './entrypoint/metadata.js';

/**
 * Checks of what is written for a stage, before it is merged with anything: each value by itself. What only shows in
 * combination is checked again once the parts have come together.
 */

type Stage = keyof StageSettings;

/** The stages in the order in which they are documented. */
export const STAGES = [
  'budget',
  'retry',
  'timeout',
  'circuitBreaker',
  'bulkhead',
  'outboundRateLimit',
  'fallback',
] as const satisfies readonly Stage[];

const RETRY_FIELDS = ['attempts', 'backoff', 'retryIf', 'retryOnResult', 'retryAfter'] as const;
const DECORATED_RETRY_FIELDS = ['attempts', 'backoff', 'retryIf', 'retryAfter', 'idempotent'] as const;

/** Reads the stages of a preset or of `create()`; keys whose value is `undefined` are absent. */
export function readStages(options: unknown): DeclaredStages {
  refusePolicy(options, 'the options of stages');
  requireObject(options, '', "Use { timeout: '2s', retry: 2 }, for example.");
  rejectUnknown(options as object, STAGES);

  return readGiven(options as Partial<Record<Stage, unknown>>, STAGES);
}

function readGiven(given: Partial<Record<Stage, unknown>>, stages: readonly Stage[]): DeclaredStages {
  const found: Partial<Record<Stage, Setting<unknown>>> = {};
  for (const stage of stages) {
    const value = given[stage];
    if (value === undefined) continue;

    withPath(stage, () => {
      refusePolicy(value, EXPECTED[stage]);
      CHECKS[stage](value);
    });
    found[stage] = { value: stage === 'fallback' ? fallbackSettings(value) : value };
  }

  return found as DeclaredStages;
}

function fallbackSettings(value: unknown): FallbackSettings {
  return typeof value === 'function' ? { handler: value as FallbackHandler } : (value as FallbackSettings);
}

/** Refuses what the decorators on one place say, if it cannot be right whatever it is merged with. */
export function checkDecorated(stages: DeclaredStages): void {
  for (const [stage, { value }] of Object.entries(stages) as [Stage, Setting<unknown>][]) {
    if (isBare(stage, value)) continue;

    withPath(stage, () => {
      refusePolicy(value, EXPECTED[stage]);
      (DECORATED_CHECKS[stage] ?? CHECKS[stage])(value);
    });
  }
}

/** Whether a decorator only turns its stage on, and leaves to others how long it is. */
function isBare(stage: Stage, value: unknown): boolean {
  return value === undefined && (stage === 'timeout' || stage === 'budget');
}

const EXPECTED: Readonly<Record<Stage, string>> = {
  budget: 'a duration',
  retry: 'options, a number of attempts, or false',
  timeout: 'a duration or a function of the attempt',
  circuitBreaker: 'options or a name',
  bulkhead: 'options or a name',
  outboundRateLimit: 'options or a name',
  fallback: 'a function or options',
};

const CHECKS: Readonly<Record<Stage, (value: unknown) => void>> = {
  budget: (value) => void parseDuration(value, '', { positive: true }),
  retry: (value) => {
    if (typeof value === 'object' && value !== null) refuseUnknownRetry(value);
    resolveRetryOptions(value as RetrySettings);
  },
  timeout: (value) => void resolveTimeout(value, ''),
  circuitBreaker: (value) => (isName(value) ? undefined : checkCircuitBreaker(value as CircuitBreakerOptions)),
  bulkhead: (value) => (isName(value) ? undefined : void resolveBulkheadOptions(value as BulkheadOptions)),
  outboundRateLimit: (value) => {
    if (isName(value) || isNameOnly(value)) return;

    resolveOutboundRateLimitOptions(value as OutboundRateLimitOptions);
  },
  fallback: (value) => {
    checkHandleIf(readFallback(value));
  },
};

const DECORATED_CHECKS: Partial<Record<Stage, (value: unknown) => void>> = {
  retry: (value) => {
    if (typeof value !== 'object' || value === null) {
      resolveRetryOptions(value as number);
      return;
    }

    checkDecoratedRetry(value);
  },
  fallback: (value) => {
    const settings = value as FallbackSettings;
    rejectUnknown(settings, ['handler', 'handleIf']);
    checkHandleIf(settings);
    const { handler } = settings;
    if (typeof handler === 'function' || (typeof handler === 'string' && handler !== '')) return;

    throw new OptionError('', `expected the name of a method of the class, or a function, got ${show(handler)}.`);
  },
};

function refuseUnknownRetry(value: object): void {
  if ('idempotent' in value) {
    throw new OptionError(
      'idempotent',
      `given ${show(value.idempotent)}, but only @Retry({ idempotent: true }) on a handler can say that. ` +
        'A policy object always retries: use it for calls that are safe to repeat.',
    );
  }
  rejectUnknown(value, RETRY_FIELDS);
}

function checkDecoratedRetry(value: object): void {
  if ('retryOnResult' in value) {
    throw new OptionError(
      'retryOnResult',
      `given ${show(value.retryOnResult)}, but results are not retried at entrypoints. ` +
        'Use a policy object in a service (ResilienceService.preset() or create()).',
    );
  }
  rejectUnknown(value, DECORATED_RETRY_FIELDS);
  const { idempotent, ...retry } = value as RetrySettings;
  if (idempotent !== undefined) requireBoolean(idempotent, 'idempotent');
  resolveRetryOptions(retry);
}

function checkHandleIf({ handleIf }: FallbackSettings): void {
  if (handleIf !== undefined) requireFunction(handleIf, 'handleIf');
}

/**
 * Some options bound each other, and either of them may come from elsewhere: alone, an option is checked beside one
 * that bounds nothing.
 */
function checkCircuitBreaker(options: CircuitBreakerOptions): void {
  requireObject(options, '', 'Use { minimumCalls: 10 }, for example, or the name of a breaker.');
  refuseInherited(options, CIRCUIT_BREAKER_FIELDS);
  const { minimumCalls = 1, slidingWindow, slowCallDuration, ...rest } = options;
  if (options.minimumCalls === undefined || slidingWindow !== undefined) {
    resolveCircuitBreakerOptions({ ...rest, minimumCalls, slidingWindow, slowCallDuration: slowCallDuration ?? 1 });
    return;
  }

  const unbounded = { type: 'time', size: '1m' } as const;
  resolveCircuitBreakerOptions({
    ...rest,
    minimumCalls,
    slidingWindow: unbounded,
    slowCallDuration: slowCallDuration ?? 1,
  });
}

/** Whether it is the name of an instance that is configured elsewhere. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && requireName(value, '') !== '';
}

/** The same in the long form; a rate limit's other options cannot be left out. */
function isNameOnly(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('name' in value) || Object.keys(value).length > 1) return false;

  return requireName(value.name, 'name') !== '';
}

/** The fields that have a value. */
export function given<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}
