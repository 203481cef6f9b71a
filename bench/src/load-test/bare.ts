import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { serveParent } from './parent.js';

/**
 * An application with nothing of ours in it, as a process: it answers after the time that it is asked for. What it is
 * late by, the machine and Nest are late by.
 */

@Controller()
class Wait {
  @Get('wait')
  async wait(@Query('ms') ms: string): Promise<{ waitedMs: string }> {
    await delay(Number(ms));

    return { waitedMs: ms };
  }
}

@Module({ controllers: [Wait] })
class BareModule {}

const app = await NestFactory.create<NestFastifyApplication>(BareModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
serveParent(await app.getUrl(), {});
