import type { AdaptiveTimeout } from '../adaptive/adaptive-timeout.js';
import { parseDuration, type Duration } from '../duration.js';
import {
  OptionError,
  rejectUnknown,
  requireBoolean,
  requireCount,
  requireFunction,
  requireObject,
  requireOneOf,
  show,
  withPath,
} from '../options.js';
import { requirePolicy, type ResiliencePolicy } from '../policy.js';
import { resolveTimeout } from '../policies/timeout.js';
import type { AttemptContext } from '../scope.js';
import { requireSectionName } from './section-name.js';

/** Sections that have to have their values before another one starts, by the names under which it gets them. */
export type SectionsBefore = Readonly<Record<string, Section<unknown, unknown>>>;

/** What a section's function is given: its attempt, and the values of the sections that it comes after. */
export type SectionContext<B extends SectionsBefore = Record<never, never>> = AttemptContext & {
  readonly [K in keyof B]: B[K] extends Section<unknown, infer V> ? V : never;
};

export type SectionFunction<V, B extends SectionsBefore = Record<never, never>> = (
  context: SectionContext<B>,
) => V | PromiseLike<V>;

/** What both kinds of sections are declared with. */
export interface SectionOptions<B extends SectionsBefore = Record<never, never>> {
  /** Shown in `degraded`, headers, events and errors; a header token. Default: the section's key. */
  readonly name?: string | undefined;
  /** For the whole section, with all its attempts. Greater than 0. Default: what is left of the budget. */
  readonly timeout?: Duration | AdaptiveTimeout | undefined;
  /** How much of what is left this section may not spend. Less than the budget. Default: that of the whole answer. */
  readonly reserve?: Duration | undefined;
  /** The policy that it runs under: that of its dependency, with its breaker and its retries. */
  readonly policy?: ResiliencePolicy | undefined;
  /** Without a policy: whether to repeat it once when it fails, after the default backoff, when that fits. Default `false`. */
  readonly idempotent?: boolean | undefined;
  /** Sections of the same fan-out whose values it needs. It is skipped when one of them has none of its own. */
  readonly after?: B | undefined;
}

export interface RequiredOptions<B extends SectionsBefore = Record<never, never>> extends SectionOptions<B> {
  readonly onFailure?: 'closed' | undefined;
  /** The status of the answer when this section fails: from 400 to 599. Default 502, or a dependency's 404 or 410. */
  readonly status?: number | undefined;
  /** When to try again, told to the client of an answer that failed; not with a dependency's 404 or 410. Default: nothing. */
  readonly retryAfter?: Duration | undefined;
}

export interface OptionalOptions<F, B extends SectionsBefore = Record<never, never>> extends SectionOptions<B> {
  readonly onFailure?: 'open' | undefined;
  /**
   * What stands in for the section's value, or a function that makes it from the error (`undefined` for a section that
   * was skipped). A value is handed out as it is, to every answer: use a function for what somebody changes. When the
   * function throws or returns a promise, the section fails as if it were required.
   */
  readonly fallback: F | ((error: unknown) => F);
}

/** A section declared as data, apart from its function. */
export type SectionDeclaration = ClosedDeclaration | OpenDeclaration;

interface ClosedDeclaration extends Omit<RequiredOptions, 'after' | 'onFailure'> {
  readonly name: string;
  readonly onFailure: 'closed';
}

interface OpenDeclaration extends Omit<OptionalOptions<unknown>, 'after' | 'onFailure'> {
  readonly name: string;
  readonly onFailure: 'open';
}

declare const TYPES: unique symbol;

/**
 * One part of an answer: a function, and what to do when it fails. Says nothing of any call, so that it can be declared
 * once and used for many answers, also at the same time.
 *
 * @typeParam T What it is in the answer.
 * @typeParam V Its own value, which sections that come after it get.
 */
export interface Section<T, V = T> {
  readonly [TYPES]?: { readonly inAnswer: T; readonly own: V };
  /** @internal */
  readonly settings: SectionSettings;
}

/**
 * The options of a section, checked.
 *
 * @internal
 */
export interface SectionSettings {
  readonly run: (context: never) => unknown;
  readonly isRequired: boolean;
  readonly name: string | undefined;
  readonly timeout: number | AdaptiveTimeout | undefined;
  readonly reserveMs: number | undefined;
  readonly policy: ResiliencePolicy | undefined;
  readonly idempotent: boolean;
  readonly after: SectionsBefore | undefined;
  readonly fallback: unknown;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

const SHARED = ['name', 'timeout', 'reserve', 'policy', 'idempotent', 'after', 'onFailure'] as const;
const REQUIRED = [...SHARED, 'status', 'retryAfter'] as const;
const OPTIONAL = [...SHARED, 'fallback'] as const;

/**
 * A section without which there is no answer.
 *
 * @param run Called with its attempt when it starts. What it throws is the section's failure.
 * @throws TypeError naming the option.
 */
export function required<V, const B extends SectionsBefore = Record<never, never>>(
  run: SectionFunction<V, B>,
  options: RequiredOptions<B> = {},
): Section<V> {
  requireFunction(run, 'run');
  requireObject(options, '', "Use { timeout: '300ms' }.");
  refuseFallback(options);
  rejectUnknown(options, REQUIRED);
  requireDirection(options.onFailure, 'closed', 'optional');
  const { status, retryAfter } = options;

  return new DeclaredSection(run, options, {
    isRequired: true,
    status: status === undefined ? undefined : requireCount(status, 'status', { min: 400, max: 599 }),
    retryAfterMs: retryAfter === undefined ? undefined : parseDuration(retryAfter, 'retryAfter', { positive: true }),
  });
}

/**
 * A section that the answer can do without: it has its fallback then, and is listed in `degraded`.
 *
 * @param run Called with its attempt when it starts. What it throws is the section's failure.
 * @throws TypeError naming the option.
 */
export function optional<V, F extends V | null, const B extends SectionsBefore = Record<never, never>>(
  run: SectionFunction<V, B>,
  options: OptionalOptions<F, B>,
): Section<null extends F ? V | null : V, V> {
  requireFunction(run, 'run');
  requireObject(options, '', "Use { timeout: '300ms', fallback: null }.");
  rejectUnknown(options, OPTIONAL);
  requireDirection(options.onFailure, 'open', 'required');
  if (!('fallback' in options)) {
    throw new OptionError('fallback', 'is missing. Say what stands in for the section, such as null or [].');
  }

  return new DeclaredSection(run, options, { isRequired: false, fallback: options.fallback });
}

/** What a declared section is in the answer: its value, or its fallback when it fails open. */
export type DeclaredValue<D extends SectionDeclaration, V> = D extends { readonly onFailure: 'open' }
  ? FallbackOf<D> extends V
    ? V
    : V | FallbackOf<D>
  : V;

type FallbackOf<D> = D extends { readonly fallback: infer F } ? (F extends (error: never) => infer R ? R : F) : never;

/** The section of a function and what was declared about it. */
export function declaredSection<V>(declaration: SectionDeclaration, run: SectionFunction<V>): Section<unknown> {
  requireObject(declaration, '', "Use { name: 'flags', timeout: '250ms', onFailure: 'open', fallback: {} }.");
  requireOneOf(declaration.onFailure, 'onFailure', ['open', 'closed']);
  requireSectionName(declaration.name, 'name');
  if (declaration.onFailure === 'closed') return required(run, declaration);

  return optional<unknown, unknown>(run as SectionFunction<unknown>, declaration);
}

class DeclaredSection implements Section<never, never> {
  readonly settings: SectionSettings;

  constructor(run: SectionSettings['run'], options: SectionOptions<SectionsBefore>, outcome: OutcomeSettings) {
    this.settings = settingsOf(run, options, outcome);
  }
}

/** What differs between sections that are required and those that are not. */
type OutcomeSettings = Pick<SectionSettings, 'isRequired'> &
  Partial<Pick<SectionSettings, 'fallback' | 'status' | 'retryAfterMs'>>;

/** By its shape, so that one of another copy of this package is one too. */
export function isSection(value: unknown): value is Section<unknown> {
  return typeof (value as Partial<Section<unknown>> | null | undefined)?.settings?.run === 'function';
}

function settingsOf(
  run: SectionSettings['run'],
  options: SectionOptions<SectionsBefore>,
  { isRequired, fallback, status, retryAfterMs }: OutcomeSettings,
): SectionSettings {
  const { name, timeout, reserve, policy, idempotent, after } = options;
  if (name !== undefined) requireSectionName(name, 'name');
  if (policy !== undefined) requirePolicy(policy, 'policy');
  if (idempotent !== undefined) requireBoolean(idempotent, 'idempotent');
  if (policy !== undefined && idempotent === true) {
    throw new OptionError('idempotent', 'a policy says itself what it repeats. Give the policy a retry instead.');
  }
  if (after !== undefined) requireSections(after);

  // One literal, nothing spread into it: on Node 20 V8 gives each object that is made of a spread and more a hidden class of
  // its own, and to read many of those takes several times as long.
  return {
    run,
    isRequired,
    name,
    timeout: timeout === undefined ? undefined : readTimeout(timeout),
    reserveMs: reserve === undefined ? undefined : parseDuration(reserve, 'reserve'),
    policy,
    idempotent: idempotent ?? false,
    // A copy: what its owner does to the object later could close a circle, in which nobody ever starts.
    after: after === undefined || Object.keys(after).length === 0 ? undefined : { ...after },
    fallback,
    status,
    retryAfterMs,
  };
}

function readTimeout(timeout: unknown): number | AdaptiveTimeout {
  const limit = resolveTimeout(timeout, 'timeout');
  if (typeof limit !== 'function') return limit;

  throw new OptionError(
    'timeout',
    `expected a duration or adaptive(), got ${show(limit)}. The limit is that of all attempts together; for one of ` +
      'the attempt give the section a policy.',
  );
}

/** What an attempt has of its own, which a value of another section would hide. */
const TAKEN = ['signal', 'attempt', 'deadline'];

function requireSections(after: SectionsBefore): void {
  requireObject(after, 'after', 'Use { product }, with a section made by required() or optional().');
  withPath('after', () => {
    for (const [key, section] of Object.entries(after)) {
      if (TAKEN.includes(key)) throw new OptionError(key, 'the attempt has a property of this name. Use another one.');
      if (!isSection(section)) {
        throw new OptionError(key, `expected a section, got ${show(section)}. Make it with required() or optional().`);
      }
    }
  });
}

/** The likeliest mistake has a remedy of its own. */
function refuseFallback(options: object): void {
  if (!('fallback' in options)) return;

  throw new OptionError(
    'fallback',
    `nothing stands in for a required section, given ${show(options.fallback)}. Use optional(), or onFailure: 'open' ` +
      'in a declaration.',
  );
}

function requireDirection(given: unknown, expected: string, other: string): void {
  if (given === undefined || given === expected) return;

  throw new OptionError('onFailure', `expected '${expected}' here, got ${show(given)}. Use ${other}() for that.`);
}
