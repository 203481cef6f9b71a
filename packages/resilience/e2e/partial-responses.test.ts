import { createHash } from 'node:crypto';
import {
  Controller,
  Get,
  Header,
  Injectable,
  Post,
  Res,
  UseInterceptors,
  VersioningType,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import {
  CircuitOpenError,
  collect,
  Fallback,
  fanOut,
  optional,
  PartialResponse,
  required,
  Retry,
  Timeout,
} from '@nestjs/resilience';
import { from, map, of, tap, type Observable } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, onFastify } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';

let reviews: Backend;

beforeEach(() => {
  reviews = new Backend();
});

const page = () =>
  fanOut({
    product: required(() => ({ id: '7' }), { name: 'catalog', timeout: '800ms' }),
    reviews: optional(({ signal }) => reviews.call(signal), { timeout: '300ms', fallback: null }),
  });

/** Sets a header by hand, as an application does it on both adapters. */
interface AnyResponse {
  header(name: string, value: string): unknown;
}

const caching = (response: AnyResponse): void => {
  response.header('Cache-Control', 'public, max-age=600');
  response.header('ETag', '"of-the-whole-page"');
  response.header('Last-Modified', 'Mon, 01 Jan 2024 00:00:00 GMT');
  for (const [name, value] of Object.entries(FOR_CACHES)) response.header(name, value);
};

/** What some caches heed before `Cache-Control`, or without it. */
const FOR_CACHES = {
  expires: 'Mon, 01 Jan 2035 00:00:00 GMT',
  'cdn-cache-control': 'max-age=3600',
  'cloudflare-cdn-cache-control': 'max-age=3600',
  'examplenet-cache-control': 'max-age=3600',
  'surrogate-control': 'max-age=3600',
  'edge-control': 'max-age=1h',
};

/** As an interceptor of the application that runs around ours sees and changes what leaves. */
@Injectable()
class CachingInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(tap(() => caching(context.switchToHttp().getResponse<AnyResponse>())));
  }
}

@Injectable()
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ ok: true, data })));
  }
}

@Controller('pages')
class PagesController {
  @Get('plain')
  plain() {
    return page();
  }

  @Get('limited')
  @Timeout('2s')
  limited() {
    return page();
  }

  @Get('observable')
  observable() {
    return from(page());
  }

  @Get('sync')
  sync() {
    return built;
  }

  @Get('several')
  several() {
    return of(built, { whole: true });
  }

  @Get('mapped')
  async mapped() {
    return (await page()).map(({ data, degraded }) => ({
      ...data,
      degraded: degraded.map(({ section }) => section),
    }));
  }

  @Get('declared')
  @Header('Cache-Control', 'public, max-age=600')
  @Header('Last-Modified', 'Mon, 01 Jan 2024 00:00:00 GMT')
  declared() {
    return page();
  }

  @Get('by-hand')
  byHand(@Res({ passthrough: true }) response: AnyResponse) {
    caching(response);
    return page();
  }

  @Get('around')
  @UseInterceptors(CachingInterceptor)
  around() {
    return page();
  }

  @Get('envelope')
  @UseInterceptors(Envelope)
  envelope() {
    return page();
  }

  @Get('repeated')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  async repeated() {
    const first = await page();
    if (reviews.calls.length === 1) throw new Error('the first attempt fails');
    return first;
  }

  @Get('replaced')
  @Fallback(() => page())
  replaced(): unknown {
    throw new Error('down');
  }

  @Post('created')
  created() {
    return page();
  }

  @Get('steps')
  async steps() {
    const parts = collect({ budget: '1s' });
    const flags = await parts.optional('flags', () => Promise.reject(new Error('secret-host:5432')), {
      fallback: null,
    });
    return { flags, degraded: parts.degraded };
  }
}

/** Answers at once, with something missing. */
let built: PartialResponse<unknown, unknown>;

beforeEach(async () => {
  built = await fanOut(
    { reviews: optional(() => Promise.reject(new Error('secret-host:5432 refused')), { timeout: 50, fallback: null }) },
    { minimum: 0 },
  );
});

const degradedBody = {
  data: { product: { id: '7' }, reviews: null },
  degraded: [{ section: 'reviews', reason: 'upstream_timeout', waitedMs: 300 }],
  partial: true,
};

onBothAdapters('A partial response that a handler returns', (start, adapter) => {
  const startPages = (options = {}) => start({ controllers: [PagesController], options });

  /** The answer while the reviews hang. */
  async function degraded(path: string, options = {}, request = {}) {
    const { call } = await startPages(options);
    freezeTime();
    const answer = call(path, request);
    await reviews.reached(1);
    await vi.advanceTimersByTimeAsync(300);

    return answer;
  }

  it.each(['plain', 'limited', 'observable'])(
    'is its body, and says in its headers what is missing (%s)',
    async (route) => {
      const { status, body, headers } = await degraded(`/pages/${route}`);

      expect(status).toBe(200);
      expect(body).toEqual(degradedBody);
      expect(headers).toMatchObject({
        'content-type': expect.stringMatching(/^application\/json/),
        'x-degraded': 'reviews=upstream_timeout;300',
        'cache-control': 'no-store',
      });
      expect(headers).not.toHaveProperty('etag');
      expect(headers).not.toHaveProperty('server-timing');
    },
  );

  it('waits for the limit of what is missing, and no longer', async () => {
    const { call } = await startPages();
    freezeTime();
    const answer = call('/pages/plain');
    await reviews.reached(1);

    await vi.advanceTimersByTimeAsync(299);
    expect(reviews.states).toEqual(['running']);
    await vi.advanceTimersByTimeAsync(1);
    expect(reviews.states).toEqual(['cancelled']);
    expect((await answer).status).toBe(200);
  });

  it('can be returned without a promise', async () => {
    const { call } = await startPages();
    const { body, headers } = await call('/pages/sync');

    expect(headers['x-degraded']).toMatch(/^reviews=upstream_error;\d+$/);
    expect(body).toMatchObject({ data: { reviews: null }, partial: true });
  });

  it('says nothing of an error but its code', async () => {
    const { call } = await startPages();
    const { text, headers } = await call('/pages/sync');

    expect(text + JSON.stringify(headers)).not.toContain('secret-host');
  });

  it('is the last of several values, or does not count', async () => {
    const { call } = await startPages();
    const { body, headers } = await call('/pages/several');

    expect(body).toEqual({ whole: true });
    expect(headers).not.toHaveProperty('x-degraded');
    expect(headers).not.toHaveProperty('cache-control');
  });

  it('keeps its marks with another body', async () => {
    const { body, headers } = await degraded('/pages/mapped');

    expect(body).toEqual({ product: { id: '7' }, reviews: null, degraded: ['reviews'] });
    expect(headers).toMatchObject({ 'x-degraded': 'reviews=upstream_timeout;300', 'cache-control': 'no-store' });
  });

  it('keeps them in an envelope', async () => {
    const { body, headers } = await degraded('/pages/envelope');

    expect(body).toEqual({ ok: true, data: degradedBody });
    expect(headers).toMatchObject({ 'x-degraded': 'reviews=upstream_timeout;300', 'cache-control': 'no-store' });
  });

  it.each(['declared', 'by-hand', 'around'])('is stored by nobody, whatever the route says (%s)', async (route) => {
    const { headers } = await degraded(`/pages/${route}`);

    expect(headers['cache-control']).toBe('no-store');
    expect(headers['x-degraded']).toBe('reviews=upstream_timeout;300');
    for (const name of ['etag', 'last-modified', ...Object.keys(FOR_CACHES)]) expect(headers).not.toHaveProperty(name);
  });

  it('is stored by nobody either when an interceptor around ours sets the headers', async () => {
    const { call } = await start({
      controllers: [PagesController],
      providers: [{ provide: APP_INTERCEPTOR, useClass: CachingInterceptor }],
    });
    const { headers } = await call('/pages/sync');

    expect(headers['cache-control']).toBe('no-store');
    expect(headers).not.toHaveProperty('etag');
  });

  it.each(['declared', 'by-hand', 'around'])('keeps what the route sets when it is whole (%s)', async (route) => {
    reviews.script((call) => call.answer({ stars: 4 }));
    const { call } = await startPages();
    const { body, headers } = await call(`/pages/${route}`);

    expect(body).toEqual({ data: { product: { id: '7' }, reviews: { stars: 4 } }, degraded: [], partial: false });
    expect(headers['cache-control']).toBe('public, max-age=600');
    expect(headers['last-modified']).toBe('Mon, 01 Jan 2024 00:00:00 GMT');
    expect(headers).not.toHaveProperty('x-degraded');
    if (route !== 'declared') {
      expect(headers).toMatchObject({ etag: '"of-the-whole-page"', ...FOR_CACHES });
    }
  });

  it.each([{ 'if-none-match': '*' }, { 'if-modified-since': 'Mon, 01 Jan 2035 00:00:00 GMT' }])(
    'is sent whatever the client has: %o',
    async (headers) => {
      const answer = await degraded('/pages/by-hand', {}, { headers });

      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(degradedBody);
    },
  );

  if (adapter === 'express') {
    it('is compared with what the client has when it is whole', async () => {
      reviews.script((call) => call.answer({ stars: 4 }));
      const { call } = await startPages();
      const { headers } = await call('/pages/plain');
      const again = await call('/pages/plain', { headers: { 'if-none-match': String(headers.etag) } });

      expect(headers.etag).toMatch(/^W\//);
      expect(again.status).toBe(304);
    });
  }

  it('is marked for HEAD too', async () => {
    const { call } = await startPages();
    const { headers, text, status } = await call('/pages/sync', { method: 'HEAD' });

    expect(status).toBe(200);
    expect(text).toBe('');
    expect(headers['x-degraded']).toMatch(/^reviews=upstream_error/);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers).not.toHaveProperty('etag');
  });

  it('keeps the status of its route', async () => {
    const { status, headers } = await degraded('/pages/created', {}, { method: 'POST' });

    expect(status).toBe(201);
    expect(headers['x-degraded']).toBe('reviews=upstream_timeout;300');
  });

  it('is that of the attempt that answers', async () => {
    const { call } = await startPages();
    reviews.script((one, nth) => (nth === 1 ? one.fail(new Error('down')) : one.answer({ stars: 4 })));
    const { body, headers } = await call('/pages/repeated');

    expect(reviews.calls).toHaveLength(2);
    expect(body).toMatchObject({ partial: false });
    expect(headers).not.toHaveProperty('x-degraded');
  });

  it('may come from a fallback', async () => {
    expect((await degraded('/pages/replaced')).headers['x-degraded']).toBe('reviews=upstream_timeout;300');
  });

  it('is marked without the mapping of errors', async () => {
    const { headers } = await degraded('/pages/plain', { mapErrors: false });

    expect(headers).toMatchObject({ 'x-degraded': 'reviews=upstream_timeout;300', 'cache-control': 'no-store' });
  });

  it('is marked under a version and a prefix', async () => {
    const { call } = await start({
      controllers: [PagesController],
      configure: (app) => {
        app.setGlobalPrefix('api');
        app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' });
      },
    });

    expect((await call('/api/v2/pages/sync')).headers['x-degraded']).toMatch(/^reviews=/);
  });

  it('is seen by the interceptors of the application as what it is', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Watching implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next.handle().pipe(tap((value: unknown) => void seen.push(value)));
      }
    }
    const { call } = await start({
      controllers: [PagesController],
      providers: [{ provide: APP_INTERCEPTOR, useClass: Watching }],
      configure: (app) => void app.useGlobalInterceptors(new Watching()),
    });
    await call('/pages/sync');

    expect(seen).toEqual([built, built]);
    expect(seen[0]).toBeInstanceOf(PartialResponse);
  });

  it('can be that of another copy of the engine', async () => {
    vi.resetModules();
    const copy = await import('holdfast');
    expect(copy.PartialResponse).not.toBe(PartialResponse);
    built = (await copy.fanOut(
      { reviews: copy.optional(() => Promise.reject(new Error('down')), { timeout: 50, fallback: null }) },
      { minimum: 0 },
    )) as unknown as typeof built;
    const { call } = await startPages();

    expect((await call('/pages/sync')).headers['x-degraded']).toMatch(/^reviews=upstream_error/);
  });

  it('has the headers that the module was told', async () => {
    const degradedOptions = { header: 'X-Page-Degraded', cacheControl: 'max-age=0, must-revalidate' };
    const { headers } = await degraded('/pages/by-hand', { degraded: degradedOptions });

    expect(headers).toMatchObject({
      'x-page-degraded': 'reviews=upstream_timeout;300',
      'cache-control': 'max-age=0, must-revalidate',
    });
    expect(headers).not.toHaveProperty('x-degraded');
    expect(headers).not.toHaveProperty('etag');
  });

  it('tells how long its sections took when it shall, and what of them is missing', async () => {
    const { headers } = await degraded('/pages/plain', { degraded: { serverTiming: true } });

    expect(headers['server-timing']).toBe('catalog;dur=0, reviews;dur=300;desc="upstream_timeout"');
  });

  it('tells it of whole ones too, beside what the application has measured', async () => {
    reviews.script((call) => call.answer({ stars: 4 }));
    const { call } = await start({
      controllers: [PagesController],
      options: { degraded: { serverTiming: true } },
      middleware: (consumer) =>
        void consumer
          .apply((_request: unknown, response: { setHeader(name: string, value: string): void }, next: () => void) => {
            response.setHeader('Server-Timing', 'db;dur=5');
            next();
          })
          .forRoutes('*path'),
    });
    const { headers } = await call('/pages/plain');

    expect(headers['server-timing']).toMatch(/^db;dur=5, catalog;dur=\d+, reviews;dur=\d+$/);
    expect(headers).not.toHaveProperty('x-degraded');
  });

  it('leaves answers that were built by hand alone', async () => {
    const { call } = await startPages();
    const { body, headers } = await call('/pages/steps');

    expect(body).toMatchObject({ flags: null, degraded: [{ section: 'flags', reason: 'upstream_error' }] });
    expect(headers).not.toHaveProperty('x-degraded');
  });
});

const fails = (error: unknown) => () => Promise.reject(error);
const circuitOpen = new CircuitOpenError('catalog', 4_200);

@Controller('gates')
class GatesController {
  @Get('down')
  down() {
    return fanOut({ product: required(fails(new Error('secret-host')), { name: 'catalog', timeout: '1s' }) });
  }

  @Get('limited')
  @Timeout('2s')
  limited() {
    return this.down();
  }

  @Get('missing')
  missing() {
    const error = Object.assign(new Error('no such product in secret-host'), { response: { status: 404, data: 'x' } });
    return fanOut({ product: required(fails(error), { name: 'catalog', timeout: '1s' }) });
  }

  @Get('gone')
  gone() {
    return fanOut({ product: required(fails({ status: 410 }), { name: 'catalog', timeout: '1s' }) });
  }

  @Get('refused')
  refused() {
    const gate = { timeout: '1s', status: 503, retryAfter: '4200ms' } as const;
    return fanOut({ session: required(fails(circuitOpen), gate) });
  }

  @Get('nothing')
  nothing() {
    return fanOut({ reviews: optional(fails(new Error('down')), { timeout: '1s', fallback: null }) });
  }
}

onBothAdapters('A required section that fails', (start) => {
  const startGates = (options = {}) => start({ controllers: [GatesController], options });
  const badGateway = (message: string) => ({
    statusCode: 502,
    error: 'Bad Gateway',
    message,
    code: 'SECTION_FAILED',
  });

  it.each(['down', 'limited'])('answers 502 with the name of the section (%s)', async (route) => {
    const { call } = await startGates();
    const { status, body, text, headers } = await call(`/gates/${route}`);

    expect(status).toBe(502);
    expect(body).toEqual(badGateway('catalog unavailable'));
    expect(text).not.toContain('secret-host');
    expect(headers).not.toHaveProperty('x-degraded');
    expect(headers).not.toHaveProperty('retry-after');
  });

  it.each([
    ['missing', 404, 'Not Found'],
    ['gone', 410, 'Gone'],
  ])('lets a dependency say that there is no such thing (%s)', async (route, statusCode, message) => {
    const { call } = await startGates();
    const { status, body } = await call(`/gates/${route}`);

    expect(status).toBe(statusCode);
    expect(body).toEqual({ statusCode, message });
  });

  it('answers as its gate asks for, with the time to come again', async () => {
    const { call } = await startGates();
    const { status, body, headers } = await call('/gates/refused');

    expect(status).toBe(503);
    expect(body).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'session unavailable',
      code: 'SECTION_FAILED',
    });
    expect(headers['retry-after']).toBe('5');
  });

  it('is no empty answer when everything is missing', async () => {
    const { call } = await startGates();
    const { status, body } = await call('/gates/nothing');

    expect(status).toBe(502);
    expect(body).toEqual(badGateway('all sections unavailable'));
  });
});

onFastify('An ETag that a hook of Fastify makes', (start) => {
  it('is not sent with an answer in which something is missing, and compared with none', async () => {
    const { call } = await start({
      controllers: [PagesController],
      configure: (app) => {
        const fastify = app.getHttpAdapter().getInstance() as unknown as {
          addHook(name: 'onSend', hook: (...given: never[]) => unknown): void;
        };
        fastify.addHook('onSend', tagged as never);
      },
    });
    const { status, headers, text } = await call('/pages/sync', { headers: { 'if-none-match': '*' } });

    expect(status).toBe(200);
    expect(text).toContain('"partial":true');
    expect(headers).not.toHaveProperty('etag');
  });
});

interface Reply {
  header(name: string, value: string): void;
  code(status: number): void;
}

/** As `@fastify/etag` does it. */
async function tagged(request: { headers: Record<string, string> }, reply: Reply, payload: string): Promise<string> {
  const tag = `"${createHash('sha256').update(payload).digest('hex')}"`;
  reply.header('etag', tag);
  const known = request.headers['if-none-match'];
  if (known !== '*' && known !== tag) return payload;

  reply.code(304);
  return '';
}
