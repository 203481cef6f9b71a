import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import type { Call } from '../sides.js';
import { KeepAliveClient } from './keep-alive-client.js';

/** Starts the application on Fastify and gives one request to it over a connection that stays open. */
export async function requestsTo(module: Type, path: string): Promise<Call> {
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const client = await KeepAliveClient.open(port, path);

  return client.get;
}
