import { ConfigurableModuleBuilder, type ConfigurableModuleAsyncOptions, type ExecutionContext } from '@nestjs/common';
import type { Duration } from 'holdfast';
import { requireBoolean } from 'holdfast/binding';

/** The kinds of calls that can be protected by a decorator, as Nest names them. */
export type IdempotencyContext = 'http' | 'graphql' | 'rpc';

/**
 * Where a call's key is found: in a header, in an argument of a GraphQL field, in a message's payload (paths such as
 * `'order.id'`), or whatever a function returns, also a promise. Nothing found means that the call has no key.
 */
export type IdempotencyKeySource =
  | { readonly header: string }
  | { readonly arg: string }
  | { readonly payload: string }
  | ((context: ExecutionContext) => unknown);

export type IdempotencyKeyFrom =
  IdempotencyKeySource | { readonly [Context in IdempotencyContext]?: IdempotencyKeySource | undefined };

/**
 * Whose keys they are: what it returns, a text, a finite number, a bigint, or a promise of one, is part of the key, so
 * that two users never meet. Called after the guards.
 *
 * @param source The HTTP request, also behind GraphQL; the payload of a message.
 */
// What requests and payloads look like only their application knows.
// oxlint-disable-next-line typescript/no-explicit-any
export type IdempotencyScopeFn = (source: any, context: ExecutionContext) => unknown;

export type IdempotencyScope =
  false | IdempotencyScopeFn | { readonly [Context in IdempotencyContext]?: IdempotencyScopeFn | false | undefined };

/**
 * Selects what two calls with one key must have in common, beside the endpoint; may return a promise.
 *
 * @param payload The body, the field's arguments, or the message's data.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type IdempotencyFingerprintFn = (payload: any, context: ExecutionContext) => unknown;

/**
 * Whether an outcome is kept. Returning `false` frees the key: the next call with it runs the handler again.
 *
 * @param status The HTTP status; 200 for a success over GraphQL and messages.
 * @param error What the handler threw; missing for a success.
 */
export type IdempotencyStoreIf = (status: number, error?: unknown) => boolean;

/** Settings that the module gives to all handlers, `@Idempotent()` on a class to its own, and on a handler to that one. */
export interface IdempotentOptions {
  /** Refuses calls without a key. Default `false`: they run unprotected. */
  readonly required?: boolean | undefined;
  /** How long an answer is kept. At least 1 ms, default 24 h. */
  readonly ttl?: Duration | undefined;
  /** How long a key stays locked when its process dies; while the handler runs it is renewed. At least 1 ms, default 60 s. */
  readonly lockTtl?: Duration | undefined;
  /** For how long a lock is renewed for one handler. At least 1 ms, default 1 h. */
  readonly maxLockHold?: Duration | undefined;
  /** When to try again after a 409 or 503, told to clients in whole seconds, rounded up. Default 1 s. */
  readonly retryAfter?: Duration | undefined;
  /** Default: the header; the argument or payload property `idempotencyKey` comes first on GraphQL and messages. */
  readonly keyFrom?: IdempotencyKeyFrom | undefined;
  /** Default: none. `false` says that all callers share their keys on purpose. */
  readonly scope?: IdempotencyScope | undefined;
  /** Default: the whole payload. */
  readonly fingerprint?: IdempotencyFingerprintFn | undefined;
  /** Default: every status below 500 but 408, 409, 423, 425 and 429, which may be another one the next time. */
  readonly storeIf?: IdempotencyStoreIf | undefined;
  /** Keeps answers in which parts are missing, with their marks. Default `true`; `false` is for handlers that only read. */
  readonly storePartial?: boolean | undefined;
  /** What a duplicate gets while the first call runs: a 409, or that call's answer once it is there. Default `'reject'`. */
  readonly onInFlight?: 'reject' | 'wait' | undefined;
  /** How long a duplicate waits; then it gets the 409. Default 10 s. */
  readonly maxWait?: Duration | undefined;
  /** Without the store, calls with a key are refused with 503, or run unprotected. Default `'fail'`. */
  readonly onStoreError?: 'fail' | 'run' | undefined;
  /** A longer answer, in bytes of its JSON, is not kept. At least 1, default `Infinity`. */
  readonly maxBodySize?: number | undefined;
}

/** Where the documentation of the errors is: `type` of each problem is this address with `#` and the code. */
export interface ProblemDetailsOptions {
  readonly type: string;
}

export interface IdempotencyModuleOptions extends IdempotentOptions {
  /** The header with the key. Default `'Idempotency-Key'`. */
  readonly header?: string | undefined;
  /** Headers of the answer that a replay repeats, beside `Location`, `ETag` and the `Content-` and `Last-Modified` ones. */
  readonly replayHeaders?: readonly string[] | undefined;
  /**
   * Keys that answers are sealed with (AES-256-GCM): buffers of 32 bytes, or texts of at least 32 characters. The first
   * one seals, all of them open. Default: answers are kept as they are.
   */
  readonly encryption?: { readonly keys: readonly (string | Buffer)[] } | undefined;
  /** Lets an application in production keep its records in memory: lost on restart, and not shared. Default `false`. */
  readonly allowInMemoryStorage?: boolean | undefined;
  /** How long each call of the store may take. At least 1 ms, default 10 s. */
  readonly storeTimeout?: Duration | undefined;
  /** How long a shutdown waits for calls that still run. Default 5 s. */
  readonly shutdownGrace?: Duration | undefined;
  /** Shows keys in events and logs as clients sent them, in place of a hash. Default `false`. */
  readonly exposeKeys?: boolean | undefined;
  /** Answers refusals over HTTP as `application/problem+json` (RFC 9457). Default `false`. */
  readonly problemDetails?: boolean | ProblemDetailsOptions | undefined;
  /** Registers the module globally. Default `true`. */
  readonly isGlobal?: boolean | undefined;
}

export interface IdempotencyOptionsFactory {
  createIdempotencyOptions(): Promise<IdempotencyModuleOptions> | IdempotencyModuleOptions;
}

export type IdempotencyModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  IdempotencyModuleOptions,
  'createIdempotencyOptions'
> &
  Pick<IdempotencyModuleOptions, 'isGlobal'>;

/** Nest's machinery for `forRoot()` and `forRootAsync()`, and the token of the options, which it holds as they were given. */
export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: IDEMPOTENCY_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<IdempotencyModuleOptions>({ optionsInjectionToken: 'IDEMPOTENCY_MODULE_OPTIONS' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createIdempotencyOptions')
    .setExtras<Pick<IdempotencyModuleOptions, 'isGlobal'>>({ isGlobal: true }, (definition, { isGlobal = true }) => ({
      ...definition,
      global: requireBoolean(isGlobal, 'IdempotencyModule.isGlobal'),
    }))
    .build();
