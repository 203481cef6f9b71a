import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Call } from '../sides.js';

type RouteCallback = (request: object, response: LightResponse, next: () => void) => PromiseLike<unknown>;

export interface PostRequest {
  readonly path: string;
  readonly body: object;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Keeps what Nest registers as the handler of a route: everything of Nest, nothing of the server or its router. */
class RecordingAdapter extends ExpressAdapter {
  readonly callbacks = new Map<string, RouteCallback>();

  override get(...args: [handler: unknown] | [path: unknown, handler: unknown]): unknown {
    const [path, handler] = args;
    if (typeof path === 'string' && typeof handler === 'function') this.callbacks.set(path, handler as RouteCallback);

    return super.get(...(args as [never, never]));
  }

  override post(...args: [handler: unknown] | [path: unknown, handler: unknown]): unknown {
    const [path, handler] = args;
    if (typeof path === 'string' && typeof handler === 'function') this.callbacks.set(path, handler as RouteCallback);

    return super.post(...(args as [never, never]));
  }
}

/** As much of a request as Nest and interceptors need. */
interface LightRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: object;
  readonly params: object;
}

/** As much of a response as Nest and a finished request need. */
class LightResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  body: unknown;

  status(code: number): this {
    this.statusCode = code;

    return this;
  }

  getHeader(): undefined {
    return undefined;
  }

  setHeader(): this {
    return this;
  }

  set(): this {
    return this;
  }

  json(body: unknown): this {
    return this.send(body);
  }

  send(body: unknown): this {
    this.body = body;
    this.headersSent = true;
    this.writableEnded = true;

    return this;
  }

  on(): this {
    return this;
  }

  once(): this {
    return this;
  }

  off(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }
}

const next = (): void => {
  throw new Error('A route passed its request on instead of answering it');
};

/** Starts the application and gives one call of that route, which has answered when its promise settles. */
export async function routeOf(module: Type, path: string): Promise<Call> {
  return callOf(await callbackOf(module, path), requestTo(path));
}

/** As {@link routeOf}, for a route that is sent something. */
export async function postRouteOf(module: Type, { path, body, headers }: PostRequest): Promise<Call> {
  const all = { host: '127.0.0.1', 'content-type': 'application/json', ...headers };
  const request = {
    method: 'POST',
    url: path,
    originalUrl: path,
    hostname: '127.0.0.1',
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    query: {},
    params: {},
    body,
  };

  return callOf(await callbackOf(module, path), request);
}

async function callbackOf(module: Type, path: string): Promise<RouteCallback> {
  const adapter = new RecordingAdapter();
  const app = await NestFactory.create(module, adapter, { logger: false });
  await app.init();
  const callback = adapter.callbacks.get(path);
  if (callback === undefined) throw new Error(`No route ${path}. Known: ${[...adapter.callbacks.keys()].join(', ')}`);

  return callback;
}

async function callOf(callback: RouteCallback, request: LightRequest): Promise<Call> {
  // What is measured is the second call and those that follow.
  await checkAnswer(callback, request);
  await checkAnswer(callback, request);

  return () => callback({ ...request }, new LightResponse(), next);
}

function requestTo(path: string): LightRequest {
  return { method: 'GET', url: path, headers: {}, query: { orderId: '1001' }, params: {} };
}

/** A route that answers with an error would be measured as happily as one that works. */
async function checkAnswer(callback: RouteCallback, request: LightRequest): Promise<void> {
  const response = new LightResponse();
  await callback({ ...request }, response, next);
  const { statusCode, body } = response;
  if (statusCode < 300 && typeof body === 'object' && body !== null) return;

  throw new Error(`${request.url} answered ${statusCode}: ${JSON.stringify(body)}`);
}
