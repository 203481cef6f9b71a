import {
  OptionError,
  parseDuration,
  rejectUnknown,
  requireBoolean,
  requireFunction,
  requireName,
  requireObject,
  requireOneOf,
  show,
  withPath,
} from 'holdfast/binding';
import type {
  IdempotencyContext,
  IdempotencyFingerprintFn,
  IdempotencyKeyFrom,
  IdempotencyKeySource,
  IdempotencyModuleOptions,
  IdempotencyScope,
  IdempotencyScopeFn,
  IdempotencyStoreIf,
  IdempotentOptions,
} from './idempotency.options.js';

/** Options with their durations in whole milliseconds; what is absent is left to others. */
export interface HandlerOptions {
  readonly required?: boolean;
  readonly ttl?: number;
  readonly lockTtl?: number;
  readonly maxLockHold?: number;
  readonly retryAfter?: number;
  readonly keyFrom?: IdempotencyKeyFrom;
  readonly scope?: IdempotencyScope;
  readonly fingerprint?: IdempotencyFingerprintFn;
  readonly storeIf?: IdempotencyStoreIf;
  readonly storePartial?: boolean;
  readonly onInFlight?: 'reject' | 'wait';
  readonly maxWait?: number;
  readonly onStoreError?: 'fail' | 'run';
  readonly maxBodySize?: number;
}

/** What may stay unset for a handler, since it depends on the call. */
type Open = 'keyFrom' | 'scope' | 'fingerprint';

/** What holds for one handler. */
export type HandlerSettings = Required<Omit<HandlerOptions, Open>> & Pick<HandlerOptions, Open>;

/** What holds for one application. */
export interface ModuleSettings {
  readonly handlers: HandlerOptions;
  /** In lower case. */
  readonly header: string;
  /** In lower case. */
  readonly replayHeaders: readonly string[];
  readonly encryption: IdempotencyModuleOptions['encryption'];
  readonly allowInMemoryStorage: boolean;
  readonly storeTimeoutMs: number;
  readonly shutdownGraceMs: number;
  readonly exposeKeys: boolean;
  /** The address that types of problems begin with; `undefined` when errors have the shape of Nest's. */
  readonly problemType: string | undefined;
}

const HANDLER_OPTIONS = [
  'required',
  'ttl',
  'lockTtl',
  'maxLockHold',
  'retryAfter',
  'keyFrom',
  'scope',
  'fingerprint',
  'storeIf',
  'storePartial',
  'onInFlight',
  'maxWait',
  'onStoreError',
  'maxBodySize',
] as const satisfies readonly (keyof IdempotentOptions)[];

const MODULE_OPTIONS: readonly string[] = [
  ...HANDLER_OPTIONS,
  'header',
  'replayHeaders',
  'encryption',
  'allowInMemoryStorage',
  'storeTimeout',
  'shutdownGrace',
  'exposeKeys',
  'problemDetails',
];

/** The longest that Node's timers wait; a longer limit for one call of a store is none. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The longest time that a `Date` holds: 100,000,000 days. */
const LONGEST_MS = 8.64e15;

/** Repeated, they would belie the connection, the client or the body that they are sent with. */
const NEVER_REPLAYED = [
  'set-cookie',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'trailer',
  'te',
  'date',
];

/** Its section on errors says what each of them means. */
const PROBLEM_TYPE = 'https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Statuses of errors which say that the same call may do better later. */
const PASSING = new Set([408, 409, 423, 425, 429]);

const DEFAULTS: HandlerSettings = {
  required: false,
  ttl: 86_400_000,
  lockTtl: 60_000,
  maxLockHold: 3_600_000,
  retryAfter: 1_000,
  storeIf: (status) => status < 500 && !PASSING.has(status),
  storePartial: true,
  onInFlight: 'reject',
  maxWait: 10_000,
  onStoreError: 'fail',
  maxBodySize: Infinity,
};

/**
 * Options of one level, checked. A field that is `undefined` is as good as absent.
 *
 * @throws TypeError naming the option.
 */
export function readHandlerOptions(options: IdempotentOptions): HandlerOptions {
  requireObject(options, '', "Use { ttl: '1h' }, for example.");
  rejectUnknown(options, HANDLER_OPTIONS);

  return pickHandlerOptions(options);
}

/** @throws TypeError naming the option. */
export function readModuleSettings(options: IdempotencyModuleOptions): ModuleSettings {
  requireObject(options, '', 'IdempotencyModule takes { ttl, scope, … }; a factory has to return such an object.');
  refuseMisplaced(options);
  rejectUnknown(options, MODULE_OPTIONS);
  const { header = 'Idempotency-Key', replayHeaders = [], encryption, problemDetails = false } = options;
  const { allowInMemoryStorage = false, exposeKeys = false, storeTimeout = 10_000, shutdownGrace = 5_000 } = options;

  return {
    handlers: pickHandlerOptions(options),
    header: requireHeader(header, 'header'),
    replayHeaders: readReplayHeaders(replayHeaders),
    encryption,
    allowInMemoryStorage: requireBoolean(allowInMemoryStorage, 'allowInMemoryStorage'),
    storeTimeoutMs: Math.min(positiveMs(storeTimeout, 'storeTimeout'), LONGEST_TIMER_MS),
    shutdownGraceMs: Math.min(wholeMs(shutdownGrace, 'shutdownGrace'), LONGEST_TIMER_MS),
    exposeKeys: requireBoolean(exposeKeys, 'exposeKeys'),
    problemType: readProblemType(problemDetails),
  };
}

/** Later levels win, field by field. */
export function mergeOptions(...levels: readonly (HandlerOptions | undefined)[]): HandlerSettings {
  return Object.assign({}, DEFAULTS, ...levels) as HandlerSettings;
}

function pickHandlerOptions(options: IdempotentOptions): HandlerOptions {
  const read = READERS as Readonly<Record<string, (value: unknown, path: string) => unknown>>;
  // Each is read once: a getter may give another value the next time.
  const given = HANDLER_OPTIONS.map((name) => [name, options[name]] as const).filter(
    ([, value]) => value !== undefined,
  );

  return Object.fromEntries(given.map(([name, value]) => [name, read[name]?.(value, name)]));
}

const READERS: { readonly [Name in keyof Required<HandlerOptions>]: (value: unknown, path: string) => unknown } = {
  required: requireBoolean,
  ttl: positiveMs,
  lockTtl: positiveMs,
  maxLockHold: positiveMs,
  retryAfter: wholeMs,
  keyFrom: readKeyFrom,
  scope: readScope,
  fingerprint: requireFunction,
  storeIf: requireFunction,
  storePartial: requireBoolean,
  onInFlight: (value, path) => requireOneOf(value, path, ['reject', 'wait']),
  maxWait: wholeMs,
  onStoreError: (value, path) => requireOneOf(value, path, ['fail', 'run']),
  maxBodySize: readSize,
};

/** Rounded up, since stores take whole milliseconds only, and a shorter time might be none. */
function wholeMs(value: unknown, path: string): number {
  return requireCountable(parseDuration(value, path, { whole: true }), path);
}

function positiveMs(value: unknown, path: string): number {
  return requireCountable(parseDuration(value, path, { whole: true, positive: true }), path);
}

/** What a store adds to its clock must still be a time: one that fails to keep an answer lets its handler run again. */
function requireCountable(milliseconds: number, path: string): number {
  if (milliseconds <= LONGEST_MS) return milliseconds;

  throw new OptionError(path, `expected at most ${LONGEST_MS}ms, got ${milliseconds}ms. '3650d' is ten years.`);
}

function readSize(value: unknown, path: string): number {
  if (typeof value === 'number' && value >= 1) return value;

  throw new OptionError(path, `expected a number of bytes of at least 1, or Infinity, got ${show(value)}.`);
}

const CONTEXTS: readonly IdempotencyContext[] = ['http', 'graphql', 'rpc'];
const SOURCE_HINT =
  "Use { header: 'X-Request-Id' }, { arg: 'key' }, { payload: 'id' }, a function, or { http, graphql, rpc }.";

function readKeyFrom(value: unknown, path: string): IdempotencyKeyFrom {
  if (typeof value === 'function') return value as IdempotencyKeySource;
  requireObject(value, path, SOURCE_HINT);
  if (!Object.keys(value as object).some((name) => CONTEXTS.includes(name as IdempotencyContext))) {
    return readSource(value, path);
  }

  rejectUnknown(value as object, CONTEXTS, path);
  const sources = value as Readonly<Record<string, unknown>>;
  const given = Object.keys(sources).filter((context) => sources[context] !== undefined);
  return Object.fromEntries(given.map((context) => [context, readSource(sources[context], `${path}.${context}`)]));
}

function readSource(value: unknown, path: string): IdempotencyKeySource {
  if (typeof value === 'function') return value as IdempotencyKeySource;
  requireObject(value, path, SOURCE_HINT);
  rejectUnknown(value as object, ['header', 'arg', 'payload'], path);
  const [[kind, place] = [], ...more] = Object.entries(value as object).filter(([, given]) => given !== undefined);
  if (kind === undefined || more.length > 0) {
    throw new OptionError(path, `expected one place where keys are, got ${show(value)}. ${SOURCE_HINT}`);
  }

  const named = `${path}.${kind}`;
  return { [kind]: kind === 'header' ? requireHeader(place, named) : requirePath(place, named) } as never;
}

function requirePath(value: unknown, path: string): string {
  if (!requireName(value, path).split('.').includes('')) return value as string;

  throw new OptionError(path, `expected names with a dot between them, got ${show(value)}.`);
}

function readScope(value: unknown, path: string): IdempotencyScope {
  if (value === false || typeof value === 'function') return value as IdempotencyScope;
  requireObject(value, path, 'Use a function, false, or { http, graphql, rpc }.');
  rejectUnknown(value as object, CONTEXTS, path);
  for (const [context, scope] of Object.entries(value as object)) {
    if (scope !== undefined && scope !== false) requireFunction(scope as IdempotencyScopeFn, `${path}.${context}`);
  }

  return { ...(value as object) };
}

/** Returns it in lower case. */
function requireHeader(value: unknown, path: string): string {
  if (typeof value === 'string' && TOKEN.test(value)) return value.toLowerCase();

  throw new OptionError(path, `expected the name of a header, got ${show(value)}.`);
}

function readReplayHeaders(value: unknown): readonly string[] {
  const path = 'replayHeaders';
  if (!Array.isArray(value)) throw new OptionError(path, `expected an array of header names, got ${show(value)}.`);

  return value.map((name, index) => {
    const header = requireHeader(name, `${path}[${index}]`);
    if (!NEVER_REPLAYED.includes(header)) return header;

    throw new OptionError(
      `${path}[${index}]`,
      `"${header}" belongs to one answer only and is never replayed. Leave it out.`,
    );
  });
}

function readProblemType(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? PROBLEM_TYPE : undefined;

  return withPath('problemDetails', () => {
    requireObject(value, '', "Use true, or { type: 'https://example.com/errors' }.");
    rejectUnknown(value as object, ['type']);
    return requireName((value as { readonly type?: unknown }).type, 'type');
  });
}

/** What belongs somewhere else is told where. */
function refuseMisplaced(options: object): void {
  const given = options as Readonly<Record<string, unknown>>;
  if ('store' in given) {
    throw new OptionError(
      'store',
      'stores are not an option. A provider registers itself: storage.registerSource(this), in its constructor.',
    );
  }
  for (const name of ['isGlobal', 'imports']) {
    if (!(name in given)) continue;

    throw new OptionError(
      name,
      `it has no effect in what a factory returns. Put it beside the factory: IdempotencyModule.forRootAsync({ ${name}: …, useFactory: … }).`,
    );
  }
}

/** Of the settings that may differ by kind of call: the one for this kind. */
export function settingFor<T>(
  setting: T | { readonly [Context in IdempotencyContext]?: T | undefined } | undefined,
  context: IdempotencyContext,
): T | undefined {
  if (typeof setting !== 'object' || setting === null) return setting;
  if (!CONTEXTS.some((name) => name in setting) && Object.keys(setting).length > 0) return setting as T;

  return (setting as { readonly [Context in IdempotencyContext]?: T })[context];
}
