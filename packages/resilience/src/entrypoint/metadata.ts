import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';
import type {
  BulkheadOptions,
  CircuitBreakerOptions,
  Duration,
  FallbackHandler,
  FallbackOptions,
  OutboundRateLimitOptions,
  RetryOptions,
} from 'holdfast';
import type { AttemptTimeout } from '../resilience.options.js';

/**
 * What the decorators write and the planner reads: plain metadata on handlers and classes, so that decorators can also
 * be applied from outside, composed, and copied by other decorators that replace a method.
 */

/** Settings of a retry, wherever they were written. */
export interface RetrySettings extends Omit<RetryOptions, 'name'> {
  /** A statement that running the handler twice within one request is harmless. Only decorators can make it. */
  readonly idempotent?: boolean | undefined;
}

/** Answers for a handler, with the error and the context of the call that failed. */
export type EntrypointFallback = (error: unknown, context: ExecutionContext) => unknown;

export interface FallbackSettings extends Omit<FallbackOptions, 'name'> {
  /** A decorator's function, or the name of a method of the same class; or the function of a preset. */
  readonly handler: string | EntrypointFallback | FallbackHandler;
}

/** What each stage may be set to. */
export interface StageSettings {
  /** `undefined` is a bare `@Budget()`: the stage is on, and its duration comes from elsewhere. */
  readonly budget: Duration | undefined;
  readonly retry: number | false | RetrySettings;
  /** `undefined` is a bare `@Timeout()`: the stage is on, and its duration comes from elsewhere. */
  readonly timeout: AttemptTimeout | undefined;
  readonly circuitBreaker: string | CircuitBreakerOptions;
  readonly bulkhead: string | BulkheadOptions;
  readonly outboundRateLimit: string | OutboundRateLimitOptions;
  readonly fallback: FallbackSettings;
}

/** One place where a stage was set. Its identity counts too: two places that use one name are two uses. */
export interface Setting<T> {
  readonly value: T;
}

/** The stages that one place sets. A stage that is absent is left as others set it. */
export type DeclaredStages = { readonly [Stage in keyof StageSettings]?: Setting<StageSettings[Stage]> };

/** Everything that the decorators on one handler, or on one class, say. */
export interface Declarations {
  readonly stages: DeclaredStages;
  readonly preset: Setting<string> | undefined;
}

const KEYS = {
  budget: 'nestjs:resilience:budget',
  retry: 'nestjs:resilience:retry',
  timeout: 'nestjs:resilience:timeout',
  circuitBreaker: 'nestjs:resilience:circuit-breaker',
  bulkhead: 'nestjs:resilience:bulkhead',
  fallback: 'nestjs:resilience:fallback',
  preset: 'nestjs:resilience:preset',
} as const;

interface DecoratedSettings extends Omit<StageSettings, 'outboundRateLimit'> {
  readonly preset: string;
}

type Decorated = keyof DecoratedSettings;

const DECORATED = Object.keys(KEYS) as Decorated[];

/** Where a decorator stands, as the compiler hands it over. */
export interface DecoratedPlace {
  readonly target: object;
  readonly key: string | symbol | undefined;
  readonly descriptor: PropertyDescriptor | undefined;
}

/** Writes what one decorator says on the method or class that it stands on. */
export function declare<D extends Decorated>(what: D, value: DecoratedSettings[D], place: DecoratedPlace): void {
  const setting: Setting<DecoratedSettings[D]> = { value };
  Reflect.defineMetadata(KEYS[what], setting, decorated(what, place));
}

function decorated(what: Decorated, { target, key, descriptor }: DecoratedPlace): object {
  if (key === undefined) return target;
  if (typeof key === 'object') throw calledAsStandard(what);
  if (typeof target === 'function') {
    throw new TypeError(
      `A resilience decorator (${what}) stands on the static method "${String(key)}" of ${target.name}. ` +
        'Resilience decorators work on handlers, which are methods of instances, and on classes.',
    );
  }

  const method: unknown = descriptor?.value;
  if (typeof method === 'function') return method;

  throw new TypeError(
    `A resilience decorator (${what}) stands on "${String(key)}" of ${target.constructor.name}, which is not a method. ` +
      'Resilience decorators work on methods and on classes.',
  );
}

function calledAsStandard(what: Decorated): TypeError {
  return new TypeError(
    `A resilience decorator (${what}) was called as a standard decorator. ` +
      'Resilience decorators, like those of Nest, need "experimentalDecorators": true in the compiler\'s options.',
  );
}

/** Reads what the decorators on a handler or a class say; of a class also what it inherits. */
export function readDeclarations(target: Function): Declarations | undefined {
  const found: Partial<Record<Decorated, Setting<unknown>>> = {};
  let any = false;
  for (const what of DECORATED) {
    const setting = Reflect.getMetadata(KEYS[what], target) as Setting<unknown> | undefined;
    if (setting === undefined) continue;

    any = true;
    found[what] = setting;
  }
  if (!any) return undefined;

  const { preset, ...stages } = found;
  return { stages: stages as DeclaredStages, preset: preset as Setting<string> | undefined };
}
