import type { ModulesContainer } from '@nestjs/core';
import { describeHandler, isEntryClass, isHandler, methodsOf, type Handler, type HandlerKinds } from './handler.js';

export type Module = ReturnType<ModulesContainer['values']> extends IterableIterator<infer One> ? One : never;
export type Wrapper = Module['providers'] extends Map<unknown, infer One> ? One : never;

/** A class that an application makes instances of. */
export interface FoundClass {
  readonly cls: Function;
  readonly wrapper: Wrapper;
}

/** Each class once, however many modules provide it. */
export function classesIn(modules: ModulesContainer): FoundClass[] {
  const found = new Map<Function, FoundClass>();
  for (const { controllers, providers, injectables } of modules.values()) {
    for (const wrapper of [...controllers.values(), ...providers.values(), ...injectables.values()]) {
      const cls = classOf(wrapper);
      if (cls !== undefined && (wrapper.token === cls || !found.has(cls))) found.set(cls, { cls, wrapper });
    }
  }

  return [...found.values()];
}

/** What is seen of an application's handlers while its instances are still made. */
export function handlerKindsIn(modules: ModulesContainer): HandlerKinds[] {
  return classesIn(modules)
    .filter(({ cls }) => isEntryClass(cls))
    .flatMap(({ cls }) => handlersOf(cls).filter(isHandler))
    .map(({ kinds }) => kinds);
}

export function handlersOf(cls: Function): Handler[] {
  return [...methodsOf(cls)].map(([name, method]) => describeHandler(cls, name, method));
}

/** The class of a provider; of one made by a factory, or given as a value, that of its instance. */
function classOf(wrapper: Wrapper): Function | undefined {
  if (!wrapper.isNotMetatype) return wrapper.metatype ?? undefined;

  const instance: unknown = wrapper.instance;
  if (typeof instance !== 'object' || instance === null) return undefined;

  const cls: unknown = instance.constructor;
  return typeof cls === 'function' ? cls : undefined;
}
