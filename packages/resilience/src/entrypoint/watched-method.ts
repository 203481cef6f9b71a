import 'reflect-metadata';
import { currentScope, isThenable } from 'holdfast/binding';
import { describeHandler, isHandler, methodsOf } from 'holdfast/nest';
import { Approach } from './approach.js';

/**
 * Handlers whose promises are watched. Nest hands an interceptor a stream of the handler's result; once an attempt is
 * given up and the stream unsubscribed from, nothing tells any more when the handler ends. A bulkhead that counts
 * abandoned handlers has to know, so decorated methods show their promise to the attempt that they run in.
 */

export type Method = (this: unknown, ...parameters: unknown[]) => unknown;

type Originals = WeakMap<Function, Function>;

const ORIGINALS = Symbol.for('nestjs.resilience.watched-methods');

/** What they were before, by what they have become; of all copies of this package, since any may have decorated them. */
const originals = ((globalThis as Record<symbol, unknown>)[ORIGINALS] ??= new WeakMap()) as Originals;

/** The method itself, with its properties and metadata; called outside of attempts it is the method. */
export function watched(method: Method): Method {
  if (originals.has(method)) return method;

  const watching: Method = function (...parameters) {
    const approach = Approach.of(this);
    if (approach !== undefined) return approach.enter((own) => method.apply(this, own), parameters);

    const attempt = currentScope();
    const result = method.apply(this, parameters);
    if (attempt?.watch === undefined || !isThenable(result)) return result;

    // Others, such as queries, may run anew each time that somebody listens to them.
    const promise = result instanceof Promise ? result : Promise.resolve(result);
    attempt.watch(promise);
    return promise;
  };
  const { prototype: _constructed, ...properties } = Object.getOwnPropertyDescriptors(method);
  Object.defineProperties(watching, properties);
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), watching);
  }
  originals.set(watching, method);

  return watching;
}

/** Watches the handlers of a class that is decorated as a whole, inherited ones too. */
export function watchMethods(cls: Function): void {
  const prototype = cls.prototype as object;
  for (const [name, method] of methodsOf(cls)) {
    const own = Object.getOwnPropertyDescriptor(prototype, name);
    if (own?.configurable === false || !isHandler(describeHandler(cls, name, method))) continue;

    const value = watched(method as Method);
    Object.defineProperty(prototype, name, { ...(own ?? INHERITED), value });
  }
}

/** As methods are declared. */
const INHERITED = { configurable: true, enumerable: false, writable: true } as const;
