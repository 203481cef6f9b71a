import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Call } from '../sides.js';

type RouteCallback = (request: object, response: LightResponse, next: () => void) => PromiseLike<unknown>;

/** Keeps what Nest registers as the handler of a route: everything of Nest, nothing of the server or its router. */
class RecordingAdapter extends ExpressAdapter {
  readonly callbacks = new Map<string, RouteCallback>();

  override get(...args: [handler: unknown] | [path: unknown, handler: unknown]): unknown {
    const [path, handler] = args;
    if (typeof path === 'string' && typeof handler === 'function') this.callbacks.set(path, handler as RouteCallback);

    return super.get(...(args as [never, never]));
  }
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
  const adapter = new RecordingAdapter();
  const app = await NestFactory.create(module, adapter, { logger: false });
  await app.init();
  const callback = adapter.callbacks.get(path);
  if (callback === undefined) throw new Error(`No route ${path}. Known: ${[...adapter.callbacks.keys()].join(', ')}`);

  await checkAnswer(callback, path);

  return () => callback(requestTo(path), new LightResponse(), next);
}

function requestTo(path: string): object {
  return { method: 'GET', url: path, headers: {}, query: { orderId: '1001' }, params: {} };
}

/** A route that answers with an error would be measured as happily as one that works. */
async function checkAnswer(callback: RouteCallback, path: string): Promise<void> {
  const response = new LightResponse();
  await callback(requestTo(path), response, next);
  if (response.statusCode === 200 && Array.isArray(response.body)) return;

  throw new Error(`GET ${path} answered ${response.statusCode}: ${JSON.stringify(response.body)}`);
}
