import { parseDuration, type Duration } from '../duration.js';
import { isClientError } from '../errors.js';
import {
  OptionError,
  rejectUnknown,
  requireCount,
  requireFactor,
  requireFunction,
  requireName,
  requireObject,
  requireOneOf,
  requirePercentage,
  withPath,
} from '../options.js';
import { resolveSlidingWindow, type ResolvedSlidingWindow, type SlidingWindowOptions } from './sliding-window.js';

export interface CircuitBreakerOptions {
  /** Shown in events and errors. Default `'circuit-breaker'`. */
  readonly name?: string | undefined;
  /** The percentage of failed calls at which it opens, above 0, at most 100. Default 50. */
  readonly failureRateThreshold?: number | undefined;
  /** How many calls the window must hold before a rate counts: whole, at least 1. Default 10. */
  readonly minimumCalls?: number | undefined;
  /** Default: the last 20 calls. */
  readonly slidingWindow?: SlidingWindowOptions | undefined;
  /** How long it stays open. Default `'30s'`; 0 is legal. */
  readonly openDuration?: Duration | undefined;
  /** How many probes a half-open period admits: whole, at least 1. Default 1. */
  readonly halfOpenMaxCalls?: number | undefined;
  /** Which errors say that the dependency is down. The others are not counted at all. Default: all but client errors. */
  readonly recordIf?: ((error: unknown) => boolean) | undefined;
  /** Calls that take as long count as slow, in flight too. Greater than 0; off by default. */
  readonly slowCallDuration?: Duration | undefined;
  /** The percentage of slow calls at which it opens, above 0, at most 100. Default 100. */
  readonly slowCallRateThreshold?: number | undefined;
  /** Opens after so many failures in a row, whatever `minimumCalls` says: whole, at least 1. Off by default. */
  readonly consecutiveFailures?: number | undefined;
  /** Lets `openDuration` grow with each half-open period that fails in a row. Off by default. */
  readonly openBackoff?: OpenBackoffOptions | undefined;
  /**
   * How long a probe may take before it counts as failed. Greater than 0. Default: the longest of `openDuration`, the
   * timeout inside plus a second, and 30 s.
   */
  readonly probeLease?: Duration | undefined;
}

export interface OpenBackoffOptions {
  /** Finite, at least 1. Default 2. */
  readonly factor?: number | undefined;
  /** Default `'5m'`. */
  readonly maxDuration?: Duration | undefined;
  /** As in a retry's backoff. Default `'none'`. */
  readonly jitter?: 'full' | 'equal' | 'none' | undefined;
}

/** What a breaker runs with; durations in milliseconds. What is off by default is there only when it is on. */
export interface ResolvedCircuitBreakerOptions {
  readonly failureRateThreshold: number;
  readonly minimumCalls: number;
  readonly slidingWindow: ResolvedSlidingWindow;
  readonly openDuration: number;
  readonly halfOpenMaxCalls: number;
  readonly recordIf: (error: unknown) => boolean;
  readonly slowCallDuration?: number;
  readonly slowCallRateThreshold?: number;
  readonly consecutiveFailures?: number;
  readonly openBackoff?: {
    readonly factor: number;
    readonly maxDuration: number;
    readonly jitter: 'full' | 'equal' | 'none';
  };
  readonly probeLease?: number;
}

/** @internal */
export const CIRCUIT_BREAKER_FIELDS = [
  'name',
  'failureRateThreshold',
  'minimumCalls',
  'slidingWindow',
  'openDuration',
  'halfOpenMaxCalls',
  'recordIf',
  'slowCallDuration',
  'slowCallRateThreshold',
  'consecutiveFailures',
  'openBackoff',
  'probeLease',
] as const;

export function resolveCircuitBreakerName(options: CircuitBreakerOptions): string {
  requireObject(options, '', 'Use { failureRateThreshold: 50, minimumCalls: 10 }.');
  const { name = 'circuit-breaker' } = options;

  return requireName(name, 'name');
}

/**
 * Validates options and fills in the defaults.
 *
 * @throws TypeError naming the option.
 */
export function resolveCircuitBreakerOptions(options: CircuitBreakerOptions): ResolvedCircuitBreakerOptions {
  requireObject(options, '', 'Use { failureRateThreshold: 50, minimumCalls: 10 }.');
  rejectUnknown(options, CIRCUIT_BREAKER_FIELDS);
  const { failureRateThreshold = 50, minimumCalls = 10, openDuration = 30_000, halfOpenMaxCalls = 1 } = options;
  const { slidingWindow: window = { type: 'count', size: 20 }, recordIf = (error) => !isClientError(error) } = options;
  const slidingWindow = withPath('slidingWindow', () => resolveSlidingWindow(window));

  return {
    failureRateThreshold: requirePercentage(failureRateThreshold, 'failureRateThreshold'),
    minimumCalls: resolveMinimumCalls(minimumCalls, slidingWindow),
    slidingWindow,
    openDuration: parseDuration(openDuration, 'openDuration'),
    halfOpenMaxCalls: requireCount(halfOpenMaxCalls, 'halfOpenMaxCalls', { min: 1 }),
    recordIf: requireFunction(recordIf, 'recordIf'),
    ...resolveExtras(options),
  };
}

function resolveMinimumCalls(value: number, { type, size }: ResolvedSlidingWindow): number {
  const minimumCalls = requireCount(value, 'minimumCalls', { min: 1 });
  if (type === 'time' || minimumCalls <= size) return minimumCalls;

  throw new OptionError(
    'minimumCalls',
    `${minimumCalls} calls never fit into a window of the last ${size} calls, so the breaker would never open. ` +
      `Lower minimumCalls to ${size} or less, or raise slidingWindow.size to ${minimumCalls} or more.`,
  );
}

type Extras = Partial<
  Pick<
    ResolvedCircuitBreakerOptions,
    'slowCallDuration' | 'slowCallRateThreshold' | 'consecutiveFailures' | 'openBackoff' | 'probeLease'
  >
>;

function resolveExtras(options: CircuitBreakerOptions): Extras {
  const { slowCallDuration, slowCallRateThreshold, consecutiveFailures, openBackoff, probeLease } = options;
  if (slowCallRateThreshold !== undefined && slowCallDuration === undefined) {
    throw new OptionError(
      'slowCallRateThreshold',
      `${slowCallRateThreshold} has no effect without slowCallDuration. Set slowCallDuration to say which calls are slow.`,
    );
  }

  return {
    ...(slowCallDuration !== undefined && {
      slowCallDuration: parseDuration(slowCallDuration, 'slowCallDuration', { positive: true }),
      slowCallRateThreshold: requirePercentage(
        slowCallRateThreshold === undefined ? 100 : slowCallRateThreshold,
        'slowCallRateThreshold',
      ),
    }),
    ...(consecutiveFailures !== undefined && {
      consecutiveFailures: requireCount(consecutiveFailures, 'consecutiveFailures', { min: 1 }),
    }),
    ...(openBackoff !== undefined && { openBackoff: withPath('openBackoff', () => resolveOpenBackoff(openBackoff)) }),
    ...(probeLease !== undefined && { probeLease: parseDuration(probeLease, 'probeLease', { positive: true }) }),
  };
}

function resolveOpenBackoff(options: OpenBackoffOptions): NonNullable<ResolvedCircuitBreakerOptions['openBackoff']> {
  requireObject(options, '', "Use { factor: 2, maxDuration: '5m' }.");
  rejectUnknown(options, ['factor', 'maxDuration', 'jitter']);
  const { factor = 2, maxDuration = 300_000, jitter = 'none' } = options;

  return {
    factor: requireFactor(factor, 'factor'),
    maxDuration: parseDuration(maxDuration, 'maxDuration'),
    jitter: requireOneOf(jitter, 'jitter', ['full', 'equal', 'none']),
  };
}
