import {
  Controller,
  Get,
  Header,
  Injectable,
  Module,
  Post,
  Res,
  type Type,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { Idempotent } from '@nestjs/idempotency';
import {
  fanOut,
  optional,
  required,
  ResilienceModule,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { map, type Observable } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import type { Answer } from '../fixtures/client.js';
import { onBothAdapters, type Application, type ApplicationOptions, type Start } from '../fixtures/http-application.js';

let runs: number;
let areThere: boolean;
beforeEach(() => {
  runs = 0;
  areThere = false;
});

function order() {
  runs += 1;
  const reviews = () => (areThere ? Promise.resolve({ stars: 4 }) : Promise.reject(new Error('down')));

  return fanOut(
    {
      order: required(() => ({ id: runs }), { timeout: '1s' }),
      reviews: optional(reviews, { timeout: '1s', fallback: null }),
    },
    { minimum: 0 },
  );
}

interface AnyResponse {
  header(name: string, value: string): this;
}

/** As an application sets them that knows nothing of missing parts. */
function describe(response: AnyResponse): void {
  response.header('etag', '"whole"').header('last-modified', 'Thu, 01 Jan 1970 00:00:00 GMT');
  response.header('cdn-cache-control', 'max-age=60').header('location', '/orders/1');
}

@Controller()
@Idempotent()
class OrdersController {
  @Post('order')
  @Header('Cache-Control', 'public, max-age=60')
  order(@Res({ passthrough: true }) response: AnyResponse) {
    describe(response);
    return order();
  }

  @Post('limited')
  @Timeout('2s')
  limited(@Res({ passthrough: true }) response: AnyResponse) {
    describe(response);
    return order();
  }

  @Post('mapped')
  async mapped() {
    return (await order()).map(({ data }) => ({ id: data.order.id, stars: data.reviews?.stars ?? 'unknown' }));
  }

  @Post('read-only')
  @Idempotent({ storePartial: false })
  readOnly() {
    return order();
  }

  @Get('page')
  @Idempotent()
  page(@Res({ passthrough: true }) response: AnyResponse) {
    response.header('etag', '"whole"');
    return order();
  }
}

@Injectable()
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

@Injectable()
class Copy implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((page: unknown) => ({ page: JSON.parse(JSON.stringify(page)) as unknown })));
  }
}

/** Modules whose interceptors stand between those of idempotency and resilience. */
@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Envelope }] })
class EnvelopeModule {}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Copy }] })
class CopyModule {}

const BETWEEN = { Envelope: EnvelopeModule, Copy: CopyModule };

const STAMPS = ['etag', 'last-modified', 'cdn-cache-control', 'expires'];

interface Modules extends ApplicationOptions {
  readonly resilience?: ResilienceModuleOptions;
  readonly between?: Type[];
}

function startWith(start: Start, { resilience = {}, between = [], ...options }: Modules): Promise<Application> {
  return start({
    controllers: [OrdersController],
    imports: [...between, ResilienceModule.forRoot(resilience)],
    ...options,
  });
}

function marksOf({ headers }: Answer): unknown {
  return [headers['x-degraded'], headers['cache-control'], STAMPS.filter((name) => name in headers)];
}

onBothAdapters('The replay of an answer in which something is missing', (start) => {
  it.each(['/order', '/limited'])(
    'has the marks of the first one, and nothing that revives a whole one (%s)',
    async (path) => {
      const { twice } = await startWith(start, {});
      const [first, again] = await twice(path);

      expect(marksOf(first)).toEqual([expect.stringMatching(/^reviews=upstream_error;\d+$/), 'no-store', []]);
      expect(marksOf(again)).toEqual(marksOf(first));
      expect([again.replayed, again.status, again.text]).toEqual([true, 201, first.text]);
      expect(again.body).toMatchObject({ partial: true, data: { order: { id: 1 }, reviews: null } });
      expect(again.headers.location).toBe('/orders/1');
      expect(runs).toBe(1);
    },
  );

  it('has them under the name and with the value that the application has chosen', async () => {
    const { twice } = await startWith(start, {
      resilience: { degraded: { header: 'X-Missing', cacheControl: 'private, max-age=5' } },
      options: { replayHeaders: ['x-missing', 'cache-control'] },
    });
    const [first, again] = await twice('/order');

    expect(first.headers['x-missing']).toMatch(/^reviews=/);
    expect(again.headers['x-missing']).toBe(first.headers['x-missing']);
    expect([again.headers['cache-control'], again.headers['x-degraded']]).toEqual(['private, max-age=5', undefined]);
  });

  it('has the body that map() made', async () => {
    const { twice } = await startWith(start, {});
    const [first, again] = await twice('/mapped');

    expect([first.body, again.body]).toEqual([
      { id: 1, stars: 'unknown' },
      { id: 1, stars: 'unknown' },
    ]);
    expect(marksOf(again)).toEqual(marksOf(first));
  });

  it('is never a 304, whatever the client has from before', async () => {
    const { twice } = await startWith(start, {});
    const conditions = { 'if-none-match': '"whole"', 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' };
    const [first, again] = await twice('/page', { method: 'GET', headers: conditions });

    expect([first.status, again.status, again.replayed, again.text]).toEqual([200, 200, true, first.text]);
    expect(marksOf(again)).toEqual(marksOf(first));
  });

  it('has the last word on its head, also after middleware', async () => {
    const { twice } = await startWith(start, {
      middleware: (consumer) =>
        consumer
          .apply((_request: unknown, response: { setHeader(name: string, value: string): void }, next: () => void) => {
            response.setHeader('Cache-Control', 'public, max-age=3600');
            response.setHeader('Expires', 'Fri, 01 Jan 2100 00:00:00 GMT');
            next();
          })
          .forRoutes('*all'),
    });
    const [first, again] = await twice('/order');

    expect(marksOf(first)).toEqual([expect.any(String), 'no-store', []]);
    expect(marksOf(again)).toEqual(marksOf(first));
  });

  it.each(['Envelope', 'Copy'] as const)('has them around an %s that another interceptor made of it', async (name) => {
    const { twice } = await startWith(start, { between: [BETWEEN[name]] });
    const [first, again] = await twice('/order');

    expect(marksOf(first)).toEqual([expect.any(String), 'no-store', []]);
    expect(again.text).toBe(first.text);
    expect(marksOf(again)).toEqual(marksOf(first));
  });

  it('comes out of a sealed record the same', async () => {
    const { twice } = await startWith(start, { options: { encryption: { keys: [Buffer.alloc(32, 7)] } } });
    const [first, again] = await twice('/order');

    expect([again.replayed, again.text]).toEqual([true, first.text]);
    expect(marksOf(again)).toEqual(marksOf(first));
  });

  it('has the usual marks in an application that has no module to set them', async () => {
    const { twice } = await start({ controllers: [OrdersController] });
    const [, again] = await twice('/order');

    expect(marksOf(again)).toEqual([expect.stringMatching(/^reviews=upstream_error/), 'no-store', []]);
    expect(again.replayed).toBe(true);
  });
});

onBothAdapters('An answer in which nothing is missing', (start) => {
  it('is replayed without marks, and with its own headers', async () => {
    areThere = true;
    const { twice } = await startWith(start, {});
    const [first, again] = await twice('/order');

    expect(marksOf(first)).toEqual([undefined, 'public, max-age=60', ['etag', 'last-modified', 'cdn-cache-control']]);
    expect(again.headers).toMatchObject({ etag: '"whole"', 'cache-control': 'public, max-age=60' });
    expect([again.headers['x-degraded'], again.replayed]).toEqual([undefined, true]);
  });

  it('is a 304 on a replay as on the first call', async () => {
    areThere = true;
    const { twice } = await startWith(start, {});
    const [first, again] = await twice('/page', { method: 'GET', headers: { 'if-none-match': '"whole"' } });

    expect(again.status).toBe(first.status);
  });
});

onBothAdapters('With storePartial: false', (start) => {
  it('an answer in which something is missing frees its key, and a whole one does not', async () => {
    const { call, events } = await startWith(start, {});
    const first = await call('/read-only', 'k');
    expect(events.at(-1)).toMatchObject({ type: 'released', reason: 'outcome' });
    areThere = true;
    const second = await call('/read-only', 'k');
    const third = await call('/read-only', 'k');

    expect([first.replayed, second.replayed, third.replayed, runs]).toEqual([false, false, true, 2]);
    expect(marksOf(first)).toEqual([expect.any(String), 'no-store', []]);
    expect(third.text).toBe(second.text);
  });

  it.each(['Envelope', 'Copy'] as const)(
    'that is so around an %s that another interceptor made of it',
    async (name) => {
      const { twice } = await startWith(start, { between: [BETWEEN[name]], options: { storePartial: false } });
      const [, again] = await twice('/order');

      expect(again.replayed).toBe(false);
    },
  );

  it('that is so in an application that has no module to set marks', async () => {
    const { twice } = await start({ controllers: [OrdersController], options: { storePartial: false } });
    const [, again] = await twice('/order');

    expect(again.replayed).toBe(false);
  });
});
