import { Readable } from 'node:stream';
import {
  BadRequestException,
  Controller,
  Get,
  Header,
  HttpCode,
  HttpException,
  Post,
  StreamableFile,
  type Type,
} from '@nestjs/common';
import { Bulkhead, CircuitBreaker, Retry, Timeout } from '@nestjs/resilience';
import { concat, EMPTY, of, throwError } from 'rxjs';
import { expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import type { Answer } from './fixtures/client.js';

/** What a handler may do, by name. */
type Handlers = Readonly<Record<string, () => unknown>>;

const raise = (error: unknown) => (): never => {
  throw error;
};

const circular: Record<string, unknown> = {};
circular['self'] = circular;

const values: Handlers = {
  undefined: () => undefined,
  null: () => null,
  'empty-text': () => '',
  zero: () => 0,
  false: () => false,
  text: () => 'text',
  object: () => ({ a: 1 }),
  array: () => [1, 2],
  buffer: () => Buffer.from('buffer'),
  bytes: () => new Uint8Array([104, 105]),
  date: () => new Date(0),
  map: () => new Map([[1, 2]]),
  bigint: () => ({ a: 1n }),
  circular: () => circular,
  symbol: () => Symbol('symbol'),
  function: () => () => 1,
  error: () => new Error('returned'),
  exception: () => new BadRequestException('returned'),
  promise: async () => 'promise',
  'promise-of-nothing': async () => undefined,
  rejection: () => Promise.reject(new Error('down')),
  'values-of-a-generator': () => [1, 2].values(),
};

const observables: Handlers = {
  'one-value': () => of('one'),
  'many-values': () => of(1, 2, 3),
  'no-value': () => EMPTY,
  nothing: () => of(undefined),
  failure: () => throwError(() => new Error('down')),
  'value-and-failure': () => concat(of(1), throwError(raise(new Error('down')))),
  'in-a-promise': async () => of('promised'),
  'of-a-promise': () => of(Promise.resolve('one')),
};

const text = () => new Blob(['text']).stream();

async function* generate(error?: Error): AsyncGenerator<string> {
  yield 'a';
  if (error !== undefined) throw error;
  yield 'b';
}

async function* failAtOnce(): AsyncGenerator<string> {
  yield await Promise.reject(new Error('down'));
}

class UnreadableFile extends StreamableFile {
  override getStream(): never {
    throw new Error('down');
  }
}

/** Can be iterated, and is an emitter, as cursors of databases are, but no stream. */
const cursor = () => ({ on: () => {}, [Symbol.asyncIterator]: () => generate() });

function lockedStream(): ReadableStream {
  const stream = text();
  stream.getReader();

  return stream;
}

async function usedResponse(): Promise<Response> {
  const response = new Response('used');
  await response.text();

  return response;
}

const streams: Handlers = {
  file: () => new StreamableFile(Readable.from(['f1', 'f2']), { type: 'text/csv', length: 4 }),
  'unreadable-file': () => new UnreadableFile(Buffer.from('file')),
  'node-stream': () => Readable.from(['r1', 'r2']),
  'web-stream': text,
  'frozen-web-stream': () => Object.freeze(text()),
  'locked-web-stream': lockedStream,
  'web-response': () => new Response('response', { status: 299, headers: { 'x-response': 'yes' } }),
  'web-response-without-body': () => new Response(null, { status: 204 }),
  'used-web-response': usedResponse,
  generator: () => generate(),
  'generator-that-fails-at-once': failAtOnce,
  cursor: cursor,
  'iterable-that-is-none': () => ({ [Symbol.asyncIterator]: 5 }),
  'iterable-that-throws': () => ({ [Symbol.asyncIterator]: raise(new Error('down')) }),
};

const refuse = raise(new Error('not to be looked at'));

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();

  return proxy;
}

const oddities: Handlers = {
  'proxy-without-has': () => new Proxy({}, { has: refuse }),
  'proxy-without-get': () => new Proxy({}, { get: refuse }),
  'proxy-without-prototype': () => new Proxy({}, { getPrototypeOf: refuse }),
  'revoked-proxy': revoked,
  'observed-proxy': () => of(new Proxy({}, { get: refuse })),
  'observed-proxy-without-has': () => of(new Proxy({}, { has: refuse })),
};

const errors: Handlers = {
  undefined: raise(undefined),
  null: raise(null),
  text: raise('text'),
  number: raise(42),
  object: raise({ status: 418, message: 'tea' }),
  'status-code': raise({ statusCode: 413, message: 'large' }),
  promise: () => raise(Promise.resolve(1))(),
  frozen: raise(Object.freeze(new Error('frozen'))),
  'exception-of-a-text': raise(new HttpException('text', 409)),
  'exception-of-an-object': raise(new HttpException({ a: 1 }, 410)),
  'exception-with-a-cause': raise(new HttpException('text', 500, { cause: circular })),
  'proxy-without-get': () => raise(new Proxy({}, { get: refuse }))(),
  'proxy-without-anything': () => raise(new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse }))(),
  'revoked-proxy': () => raise(revoked())(),
  'getters-that-throw': () => raise(Object.defineProperty(new Error('down'), 'status', { get: refuse }))(),
};

const STAGES = [
  Retry({ attempts: 2, backoff: { delay: 0 } }),
  CircuitBreaker({ minimumCalls: 20 }),
  Timeout('1m'),
  Bulkhead(),
];

/** A controller with a GET and a POST route for each handler, decorated from outside. */
function controllerOf(path: string, handlers: Handlers, stages: readonly MethodDecorator[]): Type {
  class Routes {}
  const decorate = (name: string, decorators: readonly MethodDecorator[]): void => {
    for (const decorator of decorators) {
      decorator(Routes.prototype, name, Object.getOwnPropertyDescriptor(Routes.prototype, name) as PropertyDescriptor);
    }
  };
  for (const [name, handler] of Object.entries(handlers)) {
    for (const method of ['get', 'post']) {
      const value = (): unknown => handler();
      Object.defineProperty(Routes.prototype, `${method} ${name}`, { value, configurable: true, writable: true });
    }
    decorate(`get ${name}`, [Get(name), ...stages]);
    decorate(`post ${name}`, [...stages, Post(name), HttpCode(207), Header('x-route', 'post')]);
  }
  Controller(path)(Routes);

  return Routes;
}

/** All of an answer but for what tells the time or the connection. */
function essence({ status, text: body, aborted, headers }: Answer): unknown {
  const { date: _date, connection: _connection, 'keep-alive': _alive, ...others } = headers;

  return { status, body, aborted, headers: others };
}

/** Hundreds of requests may take a while on a machine that is busy. */
const PATIENCE_MS = 30_000;

onBothAdapters('An answer with stages is the same as without', (start) => {
  it.each([
    ['values', values],
    ['observables', observables],
    ['streams', streams],
    ['values that do not let themselves be looked at', oddities],
    ['errors', errors],
  ])(
    'for %s',
    async (_case, handlers) => {
      const { call } = await start({
        controllers: [controllerOf('plain', handlers, []), controllerOf('staged', handlers, STAGES)],
      });
      const routes = Object.keys(handlers).flatMap((name) =>
        ['GET', 'POST', 'HEAD'].map((method) => ({ name, method })),
      );
      const answersOf = (controller: string) =>
        Promise.all(
          routes.map(async ({ name, method }) => {
            return [name, method, essence(await call(`/${controller}/${name}`, { method }))];
          }),
        );

      expect(await answersOf('staged')).toEqual(await answersOf('plain'));
    },
    PATIENCE_MS,
  );
});
