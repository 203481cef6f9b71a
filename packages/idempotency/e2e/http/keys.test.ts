import { createHash } from 'node:crypto';
import {
  Body,
  Controller,
  Delete,
  Get,
  Head,
  Options,
  Post,
  Put,
  Sse,
  UploadedFile,
  UseInterceptors,
  VersioningType,
  type ExecutionContext,
} from '@nestjs/common';
import { Idempotent } from '@nestjs/idempotency';
import { FileInterceptor, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { of } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import type { CallOptions } from '../fixtures/client.js';
import { newKey, onBothAdapters, type ApplicationOptions } from '../fixtures/http-application.js';

/** What takes bodies of a type that nobody parses. */
interface Fastify {
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): void;
}

let runs: number;
beforeEach(() => (runs = 0));

const ran = (): object => ({ runs: (runs += 1) });

@Controller('plain')
class PlainController {
  @Post('undecorated') undecorated(): object {
    return ran();
  }

  @Post() @Idempotent() post(): object {
    return ran();
  }

  @Put(':id') @Idempotent() put(): object {
    return ran();
  }

  @Post(':id') @Idempotent() postOne(): object {
    return ran();
  }

  @Get() @Idempotent() get(): object {
    return ran();
  }

  @Post('own/header') @Idempotent({ keyFrom: { header: 'X-Request-Id' } }) ownHeader(): object {
    return ran();
  }

  @Post('own/function')
  @Idempotent({
    keyFrom: async (context: ExecutionContext) => context.getArgByIndex<{ body: { id?: unknown } }>(0).body.id,
  })
  ownFunction(): object {
    return ran();
  }

  @Post('own/other') @Idempotent({ keyFrom: { rpc: { payload: 'id' } } }) other(): object {
    return ran();
  }
}

@Controller('covered')
@Idempotent({ required: true })
class CoveredController {
  @Get() get(): object {
    return ran();
  }

  @Head('head') head(): void {
    ran();
  }

  @Options('options') options(): object {
    return ran();
  }

  @Post() post(): object {
    return ran();
  }

  @Delete() remove(): object {
    return ran();
  }

  @Post('open') @Idempotent(false) open(): object {
    return ran();
  }

  @Get('asked') @Idempotent() asked(): object {
    return ran();
  }

  @Sse('events') @Idempotent() events(): unknown {
    runs += 1;
    return of({ data: `run ${runs}` });
  }
}

@Controller('versioned')
@Idempotent()
class VersionedController {
  @Post() post(): object {
    return ran();
  }
}

@Controller('files')
class FilesController {
  @Post() @Idempotent() @UseInterceptors(FileInterceptor('file')) upload(@UploadedFile() _file: unknown): object {
    return ran();
  }

  @Post('digest')
  @Idempotent({
    fingerprint: (_body, context) =>
      context.getArgByIndex<{ headers: Record<string, string> }>(0).headers['content-digest'],
  })
  digest(): object {
    return ran();
  }

  @Post('blanked')
  @Idempotent({ fingerprint: ({ at: _at, ...rest }: Record<string, unknown>) => rest })
  blanked(@Body() _body: object): object {
    return ran();
  }
}

const controllers = [PlainController, CoveredController, VersionedController, FilesController];

onBothAdapters('A key in the header', (start) => {
  it.each([
    ['abc', '"abc"'],
    ['abc', '  abc '],
    ['"abc"', '"abc";v=1'],
    ['"a\\"b"', '"a\\"b"'],
  ])('%s is the same as %s', async (one, other) => {
    const { call } = await start({ controllers });
    await call('/plain', one);

    expect((await call('/plain', other)).replayed).toBe(true);
  });

  it.each<[string, string | string[]]>([
    ['is sent on two lines', ['a', 'b']],
    ['is sent on two equal lines', ['a', 'a']],
    ['is sent on two quoted lines', ['"a"', '"b"']],
    ['is one only when its lines are joined', ['"a', 'b"']],
    ['has a comma', 'a, b'],
    ['is longer than 255 characters', 'x'.repeat(256)],
    ['is very long', 'x'.repeat(8_000)],
    ['is quoted in part', 'a"b'],
    ['has no closing quote', '"a'],
    ['is beyond ASCII', 'schl\u00fcssel'],
    ['has a tab inside', 'a\tb'],
  ])('that %s is refused as malformed', async (_case, key) => {
    const { call } = await start({ controllers });
    const { status, body } = await call('/plain', undefined, { headers: { 'idempotency-key': key } });

    expect([status, body]).toEqual([400, expect.objectContaining({ code: 'IDEMPOTENCY_KEY_INVALID' })]);
    expect(runs).toBe(0);
  });

  it.each(['x'.repeat(255), '__proto__', 'constructor', 'a b', '%2F../..', "'; DROP TABLE x; --"])(
    'may be %j',
    async (key) => {
      const { call } = await start({ controllers });
      const [first, again] = [await call('/plain', key), await call('/plain', key)];

      expect([first.status, again.replayed]).toEqual([201, true]);
    },
  );

  it('has the name that the application gives it', async () => {
    const { call } = await start({ controllers, options: { header: 'X-Once' } });
    const once = { headers: { 'x-once': 'a' } };
    await call('/plain', undefined, once);

    expect((await call('/plain', undefined, once)).replayed).toBe(true);
    await call('/plain', 'b');
    expect((await call('/plain', 'b')).replayed).toBe(false);
  });

  it('that middleware has put there is one', async () => {
    const middleware: ApplicationOptions['middleware'] = (consumer) =>
      consumer
        .apply((request: { headers: Record<string, string> }, _response: unknown, next: () => void) => {
          request.headers['idempotency-key'] = 'from-middleware';
          next();
        })
        .forRoutes('*all');
    const { call } = await start({ controllers, middleware });
    await call('/plain');

    expect((await call('/plain')).replayed).toBe(true);
  });
});

onBothAdapters('keyFrom over HTTP', (start) => {
  it('names another header, and the usual one is ignored', async () => {
    const { call } = await start({ controllers });
    const own = { headers: { 'x-request-id': 'a' } };
    await call('/plain/own/header', 'ignored', own);

    expect((await call('/plain/own/header', 'another', own)).replayed).toBe(true);
    await call('/plain/own/header', 'ignored');
    expect((await call('/plain/own/header', 'ignored')).replayed).toBe(false);
  });

  it('refuses two lines of that header as well', async () => {
    const { call } = await start({ controllers });
    const { status } = await call('/plain/own/header', undefined, { headers: { 'x-request-id': ['a', 'b'] } });

    expect(status).toBe(400);
  });

  it('may be a function, whose undefined says that this call has no key', async () => {
    const { call } = await start({ controllers });
    const body = { id: 42 };
    await call('/plain/own/function', 'ignored', { body });

    expect((await call('/plain/own/function', undefined, { body })).replayed).toBe(true);
    await call('/plain/own/function', 'k', { body: {} });
    expect((await call('/plain/own/function', 'k', { body: {} })).replayed).toBe(false);
  });

  it('of other kinds of calls leaves the header in its place', async () => {
    const { twice } = await start({ controllers });
    const [, again] = await twice('/plain/own/other');

    expect(again.replayed).toBe(true);
  });
});

onBothAdapters('A key belongs to', (start, adapter) => {
  const pairs: readonly (readonly [string, string, CallOptions, string, CallOptions])[] = [
    ['the path', '/plain/1', {}, '/plain/2', {}],
    ['the method', '/plain/1', {}, '/plain/1', { method: 'PUT' }],
    ['the query', '/plain?a=1', {}, '/plain?a=2', {}],
    ['the order of equal parameters', '/plain?a=1&a=2', {}, '/plain?a=2&a=1', {}],
    ['the body', '/plain', { body: { a: 1 } }, '/plain', { body: { a: 2 } }],
    ['whether there is a body', '/plain', {}, '/plain', { body: {} }],
    ['the order in lists', '/plain', { body: { a: [1, 2] } }, '/plain', { body: { a: [2, 1] } }],
    ['the host', '/plain', { headers: { host: 'a.example' } }, '/plain', { headers: { host: 'b.example' } }],
    ['the port', '/plain', { headers: { host: 'a.example:1' } }, '/plain', { headers: { host: 'a.example:2' } }],
  ];

  it.each(pairs)('%s', async (_case, path, options, otherPath, otherOptions) => {
    const { call } = await start({ controllers });
    const key = newKey();
    const { status } = await call(path, key, options);

    expect(status).toBe(201);
    expect((await call(otherPath, key, otherOptions)).status).toBe(422);
    expect((await call(path, key, options)).replayed).toBe(true);
  });

  const equals: readonly (readonly [string, string, CallOptions, string, CallOptions])[] = [
    ['the order of the query', '/plain?a=1&b=2', {}, '/plain?b=2&a=1', {}],
    [
      'the order of properties',
      '/plain',
      { body: { a: 1, b: { c: 2, d: 3 } } },
      '/plain',
      { body: { b: { d: 3, c: 2 }, a: 1 } },
    ],
    [
      'blanks in JSON',
      '/plain',
      { body: { a: 1 } },
      '/plain',
      { headers: { 'content-type': 'application/json' }, body: '{ "a": 1.0 }' },
    ],
    ['a default port', '/plain', { headers: { host: 'a.example' } }, '/plain', { headers: { host: 'A.example:80' } }],
    ['how the path is encoded', '/plain/a', {}, '/plain/%61', {}],
  ];

  it.each(equals)('a request whatever %s is', async (_case, path, options, otherPath, otherOptions) => {
    const { call } = await start({ controllers });
    const key = newKey();
    await call(path, key, options);

    expect((await call(otherPath, key, otherOptions)).replayed).toBe(true);
  });

  const asked = (host: string, forwarded: string): CallOptions => ({
    headers: { host, 'x-forwarded-host': forwarded },
  });

  it('the host that a trusted proxy was asked for, by whatever name it asks', async () => {
    const trust: ApplicationOptions =
      adapter === 'express'
        ? { configure: (app) => void (app as NestExpressApplication).set('trust proxy', true) }
        : { fastify: new FastifyAdapter({ trustProxy: true }) };
    const { call } = await start({ controllers, ...trust });
    const key = newKey();
    expect((await call('/plain', key, asked('a.internal', 'shop.example'))).status).toBe(201);

    expect((await call('/plain', key, asked('b.internal', 'shop.example'))).replayed).toBe(true);
    expect((await call('/plain', key, asked('a.internal', 'other.example'))).status).toBe(422);
  });

  it('no host that somebody claims who is not trusted', async () => {
    const { call } = await start({ controllers });
    const key = newKey();
    await call('/plain', key, asked('a.example', 'shop.example'));

    expect((await call('/plain', key, asked('a.example', 'other.example'))).replayed).toBe(true);
  });

  it('the version that is asked for', async () => {
    const configure: ApplicationOptions['configure'] = (app) =>
      app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version', defaultVersion: ['1', '2'] });
    const { call } = await start({ controllers, configure });
    const [one, two] = ['1', '2'].map((version) => ({ headers: { 'x-version': version } }));
    const key = newKey();
    expect((await call('/versioned', key, one)).status).toBe(201);

    expect((await call('/versioned', key, two)).status).toBe(422);
    expect((await call('/versioned', key, one)).replayed).toBe(true);
  });
});

onBothAdapters('The decorator on a class covers', (start) => {
  it.each(['POST', 'DELETE'])('%s', async (method) => {
    const { call } = await start({ controllers });

    expect((await call('/covered', undefined, { method })).status).toBe(400);
  });

  it.each([
    ['GET', '/covered'],
    ['HEAD', '/covered/head'],
    ['OPTIONS', '/covered/options'],
  ])('no %s, which needs no key and ignores it', async (method, path) => {
    const { call } = await start({ controllers });
    const answers = [await call(path, 'a', { method }), await call(path, 'a', { method })];

    expect(answers.map(({ status, replayed }) => [status, replayed])).toEqual([
      [200, false],
      [200, false],
    ]);
    expect(runs).toBe(2);
  });

  it('a GET that is decorated itself', async () => {
    const { twice } = await start({ controllers });
    const [, again] = await twice('/covered/asked', { method: 'GET' });

    expect(again.replayed).toBe(true);
  });

  it('no handler that is left out', async () => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/covered/open');

    expect([first.status, again.replayed, runs]).toEqual([201, false, 2]);
  });

  it('nothing beside it: a key of an undecorated handler is ignored', async () => {
    const { twice } = await start({ controllers });
    await twice('/plain/undecorated');

    expect(runs).toBe(2);
  });

  it('no stream of events, which is warned of once', async () => {
    const { twice, log } = await start({ controllers });
    const [first, again] = await twice('/covered/events', { method: 'GET' });

    expect([first.text, again.text]).toEqual([expect.stringContaining('run 1'), expect.stringContaining('run 2')]);
    expect(log.warnings.filter((line) => line.includes('stream of events'))).toHaveLength(1);
  });
});

onBothAdapters('A body that interceptors cannot see', (start, adapter) => {
  const WARNING = expect.stringContaining('is called with a body that nothing has parsed') as string;
  const form = (file: string): CallOptions => ({
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${file}\r\n--b--\r\n`,
  });
  const configure: ApplicationOptions['configure'] = (app) => {
    if (adapter !== 'fastify') return;
    const server = app.getHttpAdapter().getInstance() as unknown as Fastify;
    server.addContentTypeParser('multipart/form-data', (_request, _payload, done) => done(null));
  };

  it('is warned of, once for each handler, as two of them look alike', async () => {
    const { call, log } = await start({ controllers, configure });
    const path = adapter === 'express' ? '/files' : '/plain';
    const key = newKey();
    await call(path, key, form('one'));

    expect((await call(path, key, form('two'))).replayed).toBe(true);
    expect(log.warnings.filter((line) => line.includes('nothing has parsed'))).toEqual([WARNING]);
  });

  it('is told by its digest, if the fingerprint says so', async () => {
    const { call, log } = await start({ controllers, configure });
    const digest = (text: string): CallOptions => {
      const { headers, ...rest } = form(text);
      const hash = createHash('sha256').update(text).digest('base64');
      return { ...rest, headers: { ...headers, 'content-digest': `sha-256=:${hash}:` } };
    };
    const key = newKey();
    await call('/files/digest', key, digest('one'));

    expect((await call('/files/digest', key, digest('two'))).status).toBe(422);
    expect((await call('/files/digest', key, digest('one'))).replayed).toBe(true);
    expect(log.warnings.filter((line) => line.includes('nothing has parsed'))).toEqual([]);
  });

  it.each<[string, CallOptions]>([
    ['no body', {}],
    ['an empty body', { headers: { 'content-length': '0' } }],
    ['a body in JSON', { body: {} }],
    ['a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1' }],
  ])('is not %s', async (_case, options) => {
    const { call, log } = await start({ controllers, configure });
    await call('/plain', newKey(), options);

    expect(log.warnings.filter((line) => line.includes('nothing has parsed'))).toEqual([]);
  });

  it('may be a part of one: what fingerprint leaves out does not count, and the address does', async () => {
    const { call } = await start({ controllers });
    const key = newKey();
    await call('/files/blanked', key, { body: { id: 1, at: 1 } });

    expect((await call('/files/blanked', key, { body: { id: 1, at: 2 } })).replayed).toBe(true);
    expect((await call('/files/blanked?x=1', key, { body: { id: 1, at: 1 } })).status).toBe(422);
  });
});

onBothAdapters('Without a parser of bodies', (start, adapter) => {
  it('handlers are warned of', async () => {
    if (adapter === 'fastify') return;
    const { call, log } = await start({ controllers, bodyParser: false });
    await call('/plain', newKey(), { body: { a: 1 } });

    expect(log.warnings.filter((line) => line.includes('is called with a body'))).toEqual([
      expect.stringContaining('PlainController.post()'),
    ]);
  });

  it('raw bytes are a body like any other', async () => {
    type Parser = (request: unknown, body: Buffer, done: (error: null, body: Buffer) => void) => void;
    const asItIs: Parser = (_request, body, done) => done(null, body);
    const configure: ApplicationOptions['configure'] = (app) => {
      if (adapter === 'express') (app as NestExpressApplication).useBodyParser('raw');
      else (app as NestFastifyApplication).useBodyParser('application/octet-stream', {}, asItIs as never);
    };
    const bytes = (text: string): CallOptions => ({
      headers: { 'content-type': 'application/octet-stream' },
      body: Buffer.from(text),
    });
    const { call } = await start({ controllers, configure });
    const key = newKey();
    await call('/plain', key, bytes('\0\u0001'));

    expect((await call('/plain', key, bytes('\0\u0002'))).status).toBe(422);
    expect((await call('/plain', key, bytes('\0\u0001'))).replayed).toBe(true);
  });
});
