import { CACHE_MANAGER, CacheInterceptor, CacheModule, type Cache } from '@nestjs/cache-manager';
import {
  Controller,
  Get,
  Injectable,
  Module,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { fanOut, optional, Timeout } from '@nestjs/resilience';
import { map, type Observable } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';

/** How often a handler has run, and whether its reviews are there. */
let runs: number;
let areThere: boolean;

beforeEach(() => {
  runs = 0;
  areThere = false;
});

function page() {
  runs += 1;
  const reviews = () => (areThere ? Promise.resolve({ stars: 4 }) : Promise.reject(new Error('down')));

  return fanOut({ reviews: optional(reviews, { timeout: '1s', fallback: null }) }, { minimum: 0 });
}

@Injectable()
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

@Controller()
class PlainController {
  @Get('page')
  page() {
    return page();
  }

  @Get('limited')
  @Timeout('2s')
  limited() {
    return page();
  }
}

@Controller()
@UseInterceptors(CacheInterceptor)
class CachedController {
  @Get('page')
  page() {
    return page();
  }

  @Get('limited')
  @Timeout('2s')
  limited() {
    return page();
  }
}

@Controller()
class CachedRoutesController {
  @Get('page')
  @UseInterceptors(CacheInterceptor)
  page() {
    return page();
  }

  @Get('limited')
  @Timeout('2s')
  @UseInterceptors(CacheInterceptor, Envelope)
  limited() {
    return page();
  }
}

const caches = () => CacheModule.register({ ttl: 60_000 });
const globalCache = { provide: APP_INTERCEPTOR, useClass: CacheInterceptor };

@Module({ imports: [caches()], providers: [globalCache] })
class CachingModule {}

const PLACES = {
  'globally, around ours': { controllers: [PlainController], before: [CachingModule] },
  'globally, inside of ours': { controllers: [PlainController], imports: [CachingModule] },
  'on a controller': { controllers: [CachedController], imports: [caches()] },
  'on routes, one of them with an envelope': { controllers: [CachedRoutesController], imports: [caches()] },
};

onBothAdapters('The interceptor of @nestjs/cache-manager', (start) => {
  const placesAndRoutes = Object.keys(PLACES).flatMap((place) =>
    ['/page', '/limited'].map((route) => [place, route] as const),
  );

  it.each(placesAndRoutes)('%s, keeps no answer of %s in which something is missing', async (place, route) => {
    const { call } = await start(PLACES[place as keyof typeof PLACES]);
    const first = await call(route);
    const second = await call(route);

    expect([first, second].map(({ headers }) => headers['x-cache'])).toEqual(['MISS', 'MISS']);
    expect(second.headers['x-degraded']).toMatch(/^reviews=upstream_error/);
    expect(runs).toBe(2);
  });

  it.each(placesAndRoutes)('%s, keeps a whole answer of %s', async (place, route) => {
    areThere = true;
    const { call } = await start(PLACES[place as keyof typeof PLACES]);
    const first = await call(route);
    const second = await call(route);

    expect([first, second].map(({ headers }) => headers['x-cache'])).toEqual(['MISS', 'HIT']);
    expect(second.body).toEqual(first.body);
    expect(second.headers).not.toHaveProperty('x-degraded');
    expect(runs).toBe(1);
  });

  it('keeps what comes after an outage', async () => {
    const { call } = await start(PLACES['on a controller']);
    await call('/page');
    areThere = true;
    await call('/page');
    areThere = false;
    const { body, headers } = await call('/page');

    expect(headers['x-cache']).toBe('HIT');
    expect(body).toEqual({ data: { reviews: { stars: 4 } }, degraded: [], partial: false });
  });

  it('finds its cache as it was, for everything else', async () => {
    const { app } = await start({ imports: [caches()] });
    const cache = app.get<Cache>(CACHE_MANAGER, { strict: false });

    expect(await cache.set('stars', 4)).toBe(4);
    expect(await cache.get('stars')).toBe(4);
    const partial = await page();
    expect(await cache.set('page', partial)).toBe(partial);
    expect(await cache.get('page')).toBeUndefined();
  });

  it('is warned of at boot when its cache cannot be kept from anything', async () => {
    const cache = Object.freeze({ get: async () => undefined, set: async () => undefined });
    const { log } = await start({ providers: [{ provide: CACHE_MANAGER, useValue: cache }] });

    expect(log.warnings).toEqual([
      'A cache of @nestjs/cache-manager cannot be kept from storing answers in which something is missing: its set() is ' +
        'read-only. Leave out @UseInterceptors(CacheInterceptor) on handlers that return partial responses, or provide ' +
        'a cache that is not frozen.',
    ]);
  });
});
