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
  { path, body, headers }: PostRequest,
  middleware: readonly RequestHandler[] = [],
): Promise<Call> {
  const app = await NestFactory.create<NestExpressApplication>(module, { logger: false, bodyParser: false });
  app.use(json(), ...middleware);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const client = await KeepAliveClient.open(port, path, { body: JSON.stringify(body), headers });

  return client.get;
}
