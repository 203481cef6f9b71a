import { PGlite } from '@electric-sql/pglite';
import { Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IdempotencyModule, IdempotencyService, IdempotencyStorage, type IdempotencyStore } from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import 'reflect-metadata';
import type { Call, Sides } from '../sides.js';

/** By hand: one to take the key, and one to store the answer. */
const BY_HAND = 2;

/** What the first call of a key asks of PostgreSQL: SQL statements, counted where they leave for the database. */
export async function statementsOfPostgres(): Promise<Sides> {
  const database = new PGlite();
  let sent = 0;
  const counting = {
    query: (text: string, values?: unknown[]) => {
      sent += 1;
      return database.query(text, values);
    },
  };
  const store = new PostgresIdempotencyStore(counting, { pruneEvery: false });
  await store.ensureSchema();

  return countedSides(await firstRunsOn(store, () => sent));
}

/** What the first call of a key asks of Redis: commands, each of them a round trip. Needs a server. */
export async function roundTripsOfRedis(): Promise<Sides> {
  const client = new Redis({ lazyConnect: true, maxRetriesPerRequest: 0, keyPrefix: 'bench:' });
  // Told by `connect()` as well.
  client.on('error', () => {});
  await client.connect();
  let sent = 0;
  const counting = {
    evalsha: (...given: Parameters<Redis['evalsha']>) => {
      sent += 1;
      return client.evalsha(...given);
    },
    eval: (...given: Parameters<Redis['eval']>) => {
      sent += 1;
      return client.eval(...given);
    },
  };

  return countedSides(await firstRunsOn(new RedisIdempotencyStore(counting, { checkEviction: false }), () => sent));
}

function countedSides(ours: Call): Sides {
  const byHand = async (): Promise<number> => BY_HAND;

  return { ours, other: byHand, bare: byHand, gives: 'value' };
}

/** Each call gives how many it took. */
async function firstRunsOn(store: IdempotencyStore, sent: () => number): Promise<Call> {
  const app = await NestFactory.createApplicationContext(moduleOn(store), { logger: false });
  const service = app.get(IdempotencyService);
  const run = async (): Promise<number> => {
    const before = sent();
    await service.run(randomUUID(), () => ({ id: 1 }), { name: 'payments.create', ttl: '1m' });

    return sent() - before;
  };
  // A server that does not know the scripts is told them once.
  await run();

  return run;
}

function moduleOn(store: IdempotencyStore): Type {
  @Injectable()
  class Registration {
    constructor(storage: IdempotencyStorage) {
      storage.registerSource(store);
    }
  }

  @Module({ imports: [IdempotencyModule.forRoot()], providers: [Registration] })
  class CountedModule {}

  return CountedModule;
}
