import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Next,
  Post,
  Redirect,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { Idempotent } from '@nestjs/idempotency';
import { EMPTY, of } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import type { CallOptions } from '../fixtures/client.js';
import { newKey, onBothAdapters, type ApplicationOptions } from '../fixtures/http-application.js';
import { IS_NEST_11 } from '../fixtures/nest-version.js';

/** What responses of Express and Fastify have in common, for handlers. */
interface AnyResponse {
  readonly raw?: { setHeader(name: string, value: string): void };
  header(name: string, value: string | string[]): this;
  status(code: number): this;
  send(body: unknown): unknown;
}

interface AnyRequest {
  readonly res?: AnyResponse;
  readonly headers: Readonly<Record<string, string>>;
}

/** Middleware that compresses what leaves at last. */
function compress(request: AnyRequest, response: ServerResponse, next: () => void): void {
  if (request.headers['accept-encoding'] === 'gzip') {
    const end = response.end.bind(response) as (body: Buffer) => ServerResponse;
    response.end = ((body: Buffer) => {
      response.removeHeader('content-length');
      response.setHeader('content-encoding', 'gzip');
      return end(gzipSync(body));
    }) as typeof response.end;
  }
  next();
}

let runs: number;
beforeEach(() => (runs = 0));

const MEGABYTE = Buffer.from(Array.from({ length: 1_048_576 }, (_, at) => (at * 31) % 256));

@Controller()
@Idempotent()
class AnswersController {
  @Post('json')
  json(): object {
    runs += 1;
    return { id: runs, at: new Date(0), nested: [{ a: undefined, b: null }], text: 'é😀' };
  }

  @Post('text')
  text(): string {
    runs += 1;
    return `run ${runs}`;
  }

  @Post('falsy')
  falsy(@Body() { value }: { value: unknown }): unknown {
    runs += 1;
    return value;
  }

  @Post('nothing')
  @HttpCode(204)
  nothing(): void {
    runs += 1;
  }

  @Post('bytes')
  bytes(): Buffer {
    runs += 1;
    return Buffer.from([0, 255, 10, 13, 128, runs]);
  }

  @Post('megabyte')
  @Header('Content-Type', 'application/octet-stream')
  megabyte(): Buffer {
    runs += 1;
    return MEGABYTE;
  }

  @Post('long')
  long(): object {
    runs += 1;
    return { text: 'é'.repeat(700_000), runs };
  }

  @Post('packed')
  packed(@Res({ passthrough: true }) response: AnyResponse): Buffer {
    runs += 1;
    response.header('content-encoding', 'gzip');
    return gzipSync(`run ${runs}`);
  }

  @Post('status')
  @HttpCode(202)
  status(@Res({ passthrough: true }) response: AnyResponse): object {
    runs += 1;
    response.status(207);
    return { runs };
  }

  @Post('accepted')
  @HttpCode(202)
  accepted(): object {
    runs += 1;
    return { runs };
  }

  @Post('headers')
  @Header('X-Route', 'fixed')
  headers(@Res({ passthrough: true }) response: AnyResponse): object {
    runs += 1;
    response.header('location', `/things/${runs}`).header('etag', `"v${runs}"`).header('content-language', 'de');
    response.header('last-modified', 'Thu, 01 Jan 1970 00:00:00 GMT').header('content-location', `/things/${runs}/now`);
    response
      .header('set-cookie', ['session=secret'])
      .header('x-run', String(runs))
      .header('x-kept', [`a${runs}`, 'b']);
    return { runs };
  }

  @Get('page')
  @Idempotent()
  page(@Res({ passthrough: true }) response: AnyResponse): object {
    runs += 1;
    response.header('etag', '"page"');
    return { runs };
  }

  @Post('observable')
  several(): unknown {
    runs += 1;
    return of({ first: runs }, { last: runs });
  }
}

@Controller()
@Idempotent()
class RedirectsController {
  @Post('declared')
  @Redirect('/declared', 303)
  declared(): void {
    runs += 1;
  }

  @Post('returned')
  @Redirect('/declared', 301)
  returned(@Body() body: object): object {
    runs += 1;
    return body;
  }

  @Post('plain')
  @Redirect()
  plain(): object {
    runs += 1;
    return { url: `/run/${runs}` };
  }
}

@Controller()
@Idempotent()
class UnstorableController {
  @Post('file')
  file(): StreamableFile {
    runs += 1;
    return new StreamableFile(Buffer.from(`run ${runs}`));
  }

  @Post('readable')
  readable(): Readable {
    runs += 1;
    return Readable.from([`run ${runs}`]);
  }

  @Post('web-stream')
  webStream(): ReadableStream {
    runs += 1;
    return new Blob([`run ${runs}`]).stream();
  }

  @Post('response')
  response(): Response {
    runs += 1;
    return new Response(`run ${runs}`, { status: 202, headers: { 'x-run': String(runs) } });
  }

  @Post('iterable')
  async *iterable(): AsyncGenerator<string> {
    runs += 1;
    yield `run ${runs}`;
  }

  @Post('own-answer')
  ownAnswer(@Res() response: AnyResponse): void {
    runs += 1;
    response.status(200).send(`run ${runs}`);
  }

  @Post('later-answer')
  laterAnswer(@Res() response: AnyResponse): void {
    runs += 1;
    setTimeout(() => response.status(200).send(`run ${runs}`), 20);
  }

  @Post('next')
  next(@Next() _next: unknown, @Res() response: AnyResponse): void {
    runs += 1;
    response.status(200).send(`run ${runs}`);
  }
}

const controllers = [AnswersController, RedirectsController, UnstorableController];

onBothAdapters('A replay over HTTP', (start, adapter) => {
  it.each<[string, string, CallOptions?]>([
    ['an object', '/json'],
    ['a text', '/text'],
    ['null', '/falsy', { body: { value: null } }],
    ['zero', '/falsy', { body: { value: 0 } }],
    ['false', '/falsy', { body: { value: false } }],
    ['an empty text', '/falsy', { body: { value: '' } }],
    ['nothing at all', '/falsy', { body: {} }],
    ['no content', '/nothing'],
    ['a buffer', '/bytes'],
    ['a megabyte of bytes', '/megabyte'],
    ['more than a megabyte of JSON', '/long'],
    ['the last value of an Observable', '/observable'],
    ['bytes that the handler has compressed', '/packed'],
  ])('of %s equals the first answer in its status, type and bytes', async (_case, path, options) => {
    const { twice, log } = await start({ controllers });
    const [first, again] = await twice(path, options);

    expect([first.replayed, again.replayed, runs]).toEqual([false, true, 1]);
    expect(again.status).toBe(first.status);
    expect(again.bytes.equals(first.bytes)).toBe(true);
    for (const name of ['content-type', 'content-length', 'content-encoding', 'etag'] as const) {
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
    }
    expect([log.warnings.filter((line) => !isOfBoot(line)), log.errors]).toEqual([[], []]);
  });

  it.each([
    ['/nothing', 204],
    ['/accepted', 202],
    ['/status', 207],
  ])('of %s has the status %i', async (path, status) => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice(path);

    expect([first.status, again.status]).toEqual([status, status]);
  });

  it('has the headers that say what the answer is, and those that the application lists', async () => {
    const { twice } = await start({ controllers, options: { replayHeaders: ['X-Kept'] } });
    const [first, again] = await twice('/headers');

    expect(again.headers).toMatchObject({
      location: '/things/1',
      etag: '"v1"',
      'content-language': 'de',
      'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT',
      'content-location': '/things/1/now',
      'x-kept': 'a1, b',
      'x-route': 'fixed',
      'idempotent-replayed': 'true',
    });
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    expect(first.headers).toMatchObject({ 'set-cookie': ['session=secret'], 'x-run': '1' });
    expect(again.headers).not.toHaveProperty('set-cookie');
    expect(again.headers).not.toHaveProperty('x-run');
  });

  it('overwrites what middleware has said of the language, and keeps its other headers', async () => {
    const middleware: ApplicationOptions['middleware'] = (consumer) =>
      consumer
        .apply((request: AnyRequest, response: { setHeader(name: string, value: string): void }, next: () => void) => {
          response.setHeader('content-language', 'fr');
          response.setHeader('x-trace', request.headers['x-trace'] ?? '');
          next();
        })
        .forRoutes('*all');
    const { call } = await start({ controllers, middleware });
    const key = newKey();
    await call('/headers', key, { headers: { 'x-trace': 'one' } });
    const { headers } = await call('/headers', key, { headers: { 'x-trace': 'two' } });

    expect([headers['content-language'], headers['x-trace']]).toEqual(['de', 'two']);
  });

  // On Fastify it is a plugin's hook, which looks at the answer alone.
  it.runIf(adapter === 'express')('is compressed as its own request asks for', async () => {
    const { call } = await start({
      controllers,
      middleware: (consumer) => consumer.apply(compress).forRoutes('*all'),
    });
    const zipped = { headers: { 'accept-encoding': 'gzip' } };
    const [once, other] = [newKey(), newKey()];
    const first = await call('/long', once);
    const again = await call('/long', once, zipped);
    const firstZipped = await call('/long', other, zipped);
    const againPlain = await call('/long', other);

    expect([again.headers['content-encoding'], againPlain.headers['content-encoding']]).toEqual(['gzip', undefined]);
    expect(gunzipSync(again.bytes).equals(first.bytes)).toBe(true);
    expect(againPlain.bytes.equals(gunzipSync(firstZipped.bytes))).toBe(true);
  });

  it('has the CORS headers of the request that it answers', async () => {
    const { call } = await start({ controllers, configure: (app) => app.enableCors({ origin: true }) });
    const key = newKey();
    await call('/json', key, { headers: { origin: 'https://one.example' } });
    const { headers, replayed } = await call('/json', key, { headers: { origin: 'https://two.example' } });

    expect([replayed, headers['access-control-allow-origin']]).toEqual([true, 'https://two.example']);
  });

  it('of a GET meets a condition as the first answer would have', async () => {
    const { call } = await start({ controllers });
    const key = newKey();
    const first = await call('/page', key, { method: 'GET', headers: { 'if-none-match': '"page"' } });
    const again = await call('/page', key, { method: 'GET', headers: { 'if-none-match': '"page"' } });

    // Fastify leaves conditions to a plugin.
    const status = adapter === 'express' ? 304 : 200;
    expect([first.status, again.status, again.replayed, again.headers.etag]).toEqual([status, status, true, '"page"']);
  });

  it('of a POST is whole, whatever condition the request has', async () => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/headers', { headers: { 'if-none-match': '"v1"' } });

    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
  });
});

onBothAdapters('A redirect', (start) => {
  it.each<[string, string, unknown, number, string]>([
    ['that is declared', '/declared', undefined, 303, '/declared'],
    ['whose address is returned', '/returned', { url: '/other' }, 301, '/other'],
    ['whose status is returned', '/returned', { statusCode: 307 }, 307, '/declared'],
    ['that is returned', '/returned', { url: '/other?a=%20b&c="', statusCode: 308 }, 308, '/other?a=%20b&c='],
    ['whose returned fields are empty', '/returned', { url: '', statusCode: 0 }, 301, '/declared'],
    ['without a declared address', '/plain', undefined, 302, '/run/1'],
  ])('%s is replayed', async (_case, path, body, status, location) => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice(path, { body });

    expect([first.status, first.headers.location?.startsWith(location)]).toEqual([status, true]);
    expect([again.status, again.headers.location, again.replayed]).toEqual([status, first.headers.location, true]);
    expect(runs).toBe(1);
  });

  it('to an address beyond ASCII is replayed in the form that headers can have', async () => {
    const { twice } = await start({ controllers });
    const [, again] = await twice('/returned', { body: { url: '/日本\r\nSet-Cookie: a=1 \ud800' } });

    expect(again.headers.location).toBe('/%E6%97%A5%E6%9C%AC%0D%0ASet-Cookie:%20a=1%20%EF%BF%BD');
    expect([again.replayed, again.headers['set-cookie']]).toEqual([true, undefined]);
  });
});

/** What handlers of these tests are warned of before their first call, and not again. */
function isOfBoot(warning: string): boolean {
  return warning.includes('sends its answer itself');
}

onBothAdapters('An answer of which no copy can be kept', (start) => {
  /** Nest 11 sends them as objects without content. */
  const streams = ['/readable', '/web-stream', '/response', '/iterable'].map((path) => [path, 'is a stream'] as const);

  it.each<readonly [string, string]>([
    ['/file', 'is a stream'],
    ...(IS_NEST_11 ? [] : streams),
    ['/own-answer', 'sends its answer itself'],
    ['/later-answer', 'sends its answer itself'],
    ['/next', 'sends its answer itself'],
  ])('%s reaches its caller, is warned of once, and the next call runs the handler', async (path, why) => {
    const { twice, events, log } = await start({ controllers });
    const [first, again] = await twice(path);

    expect([first.text, again.text, again.replayed]).toEqual(['run 1', 'run 2', false]);
    const isExpected = why.endsWith('itself') ? isOfBoot : (line: string) => !isOfBoot(line);
    expect(log.warnings.filter(isExpected)).toEqual(
      Array(why.endsWith('itself') ? 3 : 1).fill(expect.stringContaining(why)),
    );
    expect(log.errors).toEqual([]);
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(2);
  });

  it('that was sent although Nest was to send it is warned of, and the next call runs the handler', async () => {
    @Controller()
    class SendingController {
      @Post()
      @Idempotent()
      send(@Res({ passthrough: true }) response: AnyResponse): void {
        runs += 1;
        response.status(200).send(`run ${runs}`);
      }
    }
    const { twice, log, events } = await start({ controllers: [SendingController] });
    const [first, again] = await twice('/');

    expect([first.text, again.text, again.replayed]).toEqual(['run 1', 'run 2', false]);
    expect(log.warnings).toEqual([expect.stringContaining('SendingController.send() sends its answer itself')]);
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(2);
  });

  it('that has no value at all is warned of', async () => {
    @Controller()
    class EmptyController {
      @Post()
      @Idempotent()
      @UseInterceptors({ intercept: () => EMPTY })
      empty(): void {}
    }
    const { twice, log, events } = await start({ controllers: [EmptyController] });
    await twice('/');

    expect(log.warnings).toEqual([expect.stringContaining('EmptyController.empty() completed without a value')]);
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(2);
  });
});
