import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { json, type RequestHandler } from 'express';
import type { AddressInfo } from 'node:net';
import type { Call } from '../sides.js';
import { KeepAliveClient } from './keep-alive-client.js';
import type { PostRequest } from './route-callbacks.js';

/** Starts the application on Express, behind that middleware, and gives one request to it over a connection that stays open. */
export async function postTo(
  module: Type,
  request: PostRequest,
  middleware: readonly RequestHandler[] = [],
): Promise<Call> {
  const client = await openPosting(await listen(module, middleware), request);

  return client.get;
}

/** Starts the application on Express, and gives its port. */
export async function listen(module: Type, middleware: readonly RequestHandler[]): Promise<number> {
  const app = await NestFactory.create<NestExpressApplication>(module, { logger: false, bodyParser: false });
  app.use(json(), ...middleware);
  await app.listen(0, '127.0.0.1');
  // Five seconds by default: a connection that waits for its turn would be closed.
  app.getHttpServer().keepAliveTimeout = 0;

  return (app.getHttpServer().address() as AddressInfo).port;
}

/** A connection over which that request has been answered twice: the second answer and those that follow are alike. */
export function openPosting(port: number, { path, body, headers }: PostRequest): Promise<KeepAliveClient> {
  return KeepAliveClient.open(port, path, { body: JSON.stringify(body), headers });
}
