import { partialIn } from 'holdfast/nest';

/** The token of `@nestjs/cache-manager`, spelt out: an application need not have that package. */
const CACHE_MANAGER = 'CACHE_MANAGER';
const GUARDED = Symbol.for('nestjs.resilience.guarded');

interface Cache {
  readonly set: (key: string, ...valueAndTtl: unknown[]) => unknown;
  readonly [GUARDED]?: boolean;
}

interface ProvidingModule {
  readonly providers: { get(token: string): { readonly instance?: unknown } | undefined };
}

/**
 * Makes the application's caches pass over answers in which something is missing. Their interceptor keeps whatever
 * it sees, and what it sees has to stay a partial response for the interceptors around it. Returns whether all of
 * them let that be done.
 */
export function guardCaches(modules: Iterable<ProvidingModule>): boolean {
  const caches = [...modules].map(({ providers }) => providers.get(CACHE_MANAGER)?.instance).filter(isCache);

  return caches.every((cache) => cache[GUARDED] === true || guard(cache));
}

function guard(cache: Cache): boolean {
  const { set } = cache;
  function setWhole(this: unknown, key: string, ...valueAndTtl: unknown[]): unknown {
    const [value] = valueAndTtl;
    return partialIn(value)?.partial === true ? Promise.resolve(value) : set.call(this, key, ...valueAndTtl);
  }

  return (
    Reflect.defineProperty(cache, 'set', { value: setWhole, configurable: true, enumerable: true, writable: true }) &&
    Reflect.defineProperty(cache, GUARDED, { value: true })
  );
}

function isCache(value: unknown): value is Cache {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Cache>).set === 'function';
}
