import { createParamDecorator } from '@nestjs/common';
import type { BulkheadOptions, CircuitBreakerOptions, Duration, FallbackOptions } from 'holdfast';
import { declare, type EntrypointFallback, type RetrySettings } from './entrypoint/metadata.js';
import { readSignal } from 'holdfast/nest';
import { watched, watchMethods, type Method } from './entrypoint/watched-method.js';
import type { AttemptTimeout } from './resilience.options.js';

/**
 * The decorators. They work on handlers and on classes, in any order, and only write down what was asked for; the
 * module reads it at bootstrap, checks it, and applies it around the handler.
 */

/** A decorator for handlers and classes. */
export type EntrypointDecorator = ClassDecorator & MethodDecorator;

/** Options of `@Retry()`. A retry of results (`retryOnResult`) has no place at an entrypoint. */
export type RetryDecoratorOptions = Omit<RetrySettings, 'retryOnResult'>;

/**
 * Re-runs a failed handler: pipes, inner interceptors and handler, not guards and middleware. Over HTTP it applies to
 * GET, HEAD and OPTIONS, on GraphQL to queries, unless the handler is declared `idempotent`; on message and WebSocket
 * handlers it has to stand on the handler itself.
 *
 * @example
 * ```ts
 * @Retry({ attempts: 4, backoff: { delay: '100ms' } })
 * @Retry(5)      // sets the attempts only
 * @Retry(false)  // turns an inherited retry off
 * ```
 */
export function Retry(options: RetryDecoratorOptions | number | false = {}): EntrypointDecorator {
  return decorate((target, key, descriptor) => declare('retry', options, { target, key, descriptor }));
}

/**
 * Gives each attempt of the handler this much time. Without an argument: the time of the preset or class, and where
 * neither sets one, `defaults.timeout`.
 *
 * @example
 * ```ts
 * @Timeout('1.5s')
 * ```
 */
export function Timeout(timeout?: AttemptTimeout): EntrypointDecorator {
  return decorate((target, key, descriptor) => declare('timeout', timeout, { target, key, descriptor }));
}

/**
 * Gives the handler this much time for all that it does: attempts, the waits between them, queues. A fallback answers
 * outside of it. Greater than 0. Without an argument: the budget of the preset or class, and where neither sets one,
 * `defaults.budget`.
 *
 * @example
 * ```ts
 * @Budget('3s')
 * ```
 */
export function Budget(budget?: Duration): EntrypointDecorator {
  return decorate((target, key, descriptor) => declare('budget', budget, { target, key, descriptor }));
}

/**
 * Stops calling a handler that keeps failing. A breaker without a name belongs to its handler, also when the decorator
 * stands on the class; a string is the name of one that is configured elsewhere.
 *
 * @example
 * ```ts
 * @CircuitBreaker({ minimumCalls: 20, openDuration: '10s' })
 * @CircuitBreaker('carrier')
 * ```
 */
export function CircuitBreaker(options: CircuitBreakerOptions | string = {}): EntrypointDecorator {
  return decorate((target, key, descriptor) => declare('circuitBreaker', options, { target, key, descriptor }));
}

/**
 * Caps how many calls of a handler run at once, and how many may wait. A bulkhead without a name belongs to its
 * handler, also when the decorator stands on the class; a string is the name of one that is configured elsewhere.
 *
 * @example
 * ```ts
 * @Bulkhead({ maxConcurrent: 2, maxQueue: 3, queueTimeout: '10s' })
 * ```
 */
export function Bulkhead(options: BulkheadOptions | string = {}): EntrypointDecorator {
  return decorate((target, key, descriptor) => declare('bulkhead', options, { target, key, descriptor }));
}

/**
 * Applies a preset of the module's options, stage by stage: a decorator for the same stage on the same handler or
 * class wins over it.
 *
 * @example
 * ```ts
 * @Resilience('carrier')
 * ```
 */
export function Resilience(preset: string): EntrypointDecorator {
  return decorate((target, key, descriptor) => declare('preset', preset, { target, key, descriptor }));
}

export type FallbackDecoratorOptions = Omit<FallbackOptions, 'name'>;

type Methods<Name extends string> = { readonly [Method in Name]: (...parameters: never[]) => unknown };

/** A decorator that only compiles on a class with a public method of this name, or on a method of one. */
export interface FallbackMethodDecorator<Name extends string> {
  (target: { readonly prototype: Methods<Name> }): void;
  (target: Methods<Name>, key: string | symbol, descriptor: PropertyDescriptor): void;
}

/**
 * Answers in place of a failed handler: with a public method of the same class, or with a function. Either is called
 * with the error and the `ExecutionContext`, and may return a value, a promise or an Observable. By default it stands
 * in for every error that is not a client error.
 *
 * @example
 * ```ts
 * @Fallback('flatRateQuotes', { handleIf: (error) => error instanceof CircuitOpenError })
 * @Fallback(() => [])
 * ```
 */
export function Fallback<Name extends string>(
  method: Name,
  options?: FallbackDecoratorOptions,
): FallbackMethodDecorator<Name>;
export function Fallback(handler: EntrypointFallback, options?: FallbackDecoratorOptions): EntrypointDecorator;
export function Fallback(
  handler: string | EntrypointFallback,
  options: FallbackDecoratorOptions = {},
): EntrypointDecorator {
  return decorate((target, key, descriptor) =>
    declare('fallback', { ...options, handler }, { target, key, descriptor }),
  );
}

/**
 * Injects the `AbortSignal` of the current attempt into a parameter of a handler; `undefined` where the handler has
 * no stages. A client that leaves aborts it too, over HTTP and by default for GET, HEAD and OPTIONS.
 *
 * @example
 * ```ts
 * getQuotes(@Query('orderId') orderId: string, @Signal() signal: AbortSignal) {}
 * ```
 */
export const Signal: () => ParameterDecorator = createParamDecorator(readSignal);

/** What the compiler calls a decorator with. */
type Write = (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => PropertyDescriptor | void;

function decorate(write: Write): EntrypointDecorator {
  const decorator: Write = (target, key, descriptor) => {
    write(target, key, descriptor);
    if (key === undefined) watchMethods(target as Function);

    if (key === undefined || descriptor === undefined) return undefined;

    // In place, since `applyDecorators()` drops what a decorator returns; and on the class at once, since a decorator
    // that is applied from outside has nobody who would put the descriptor there.
    const method = descriptor.value as Method;
    descriptor.value = watched(method);
    const own = Object.getOwnPropertyDescriptor(target, key);
    if (own?.value === method && own.configurable === true) Object.defineProperty(target, key, descriptor);

    return descriptor;
  };

  return decorator as EntrypointDecorator;
}
