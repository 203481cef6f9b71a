import 'reflect-metadata';
import { Body, Controller, HttpCode, Inject, Module, Post, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  IdempotencyModule,
  IdempotencyService,
  IdempotencyStorage,
  Idempotent,
  type IdempotencyStore,
} from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { moment } from '../moment.js';
import { Random } from '../random.js';
import { Charges, JoinedCharges, SeparateCharges, type Charge, type Charged, type JoinedParts } from './charges.js';
import { NaiveStore } from './naive-store.js';
import { settingsOfThisProcess } from './server-settings.js';
import { Stalls } from './stalls.js';
import { Acknowledgements, WitnessStore } from './witness-store.js';

const settings = settingsOfThisProcess();
const acknowledgements = new Acknowledgements(settings.acknowledged);
const stalls = new Stalls(settings.stalls, settings.lockTtl);

function poolOf(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 12, connectionTimeoutMillis: 20_000 });
  // Of connections that break while nobody uses them.
  pool.on('error', () => {});

  return pool;
}

async function openStore(): Promise<IdempotencyStore> {
  if (settings.store === 'redis') {
    const client = new Redis(settings.storeUrl, { retryStrategy: () => 100 });
    client.on('error', () => {});

    return new RedisIdempotencyStore(client, { keyPrefix: settings.keyPrefix, checkEviction: false });
  }
  if (settings.fault !== undefined) return new NaiveStore(poolOf(settings.storeUrl), settings.fault);

  // The table is there before the servers are: see run-case.ts.
  return new PostgresIdempotencyStore(poolOf(settings.storeUrl));
}

const store = await openStore();

class StoreRegistration {
  constructor(@Inject(IdempotencyStorage) storage: IdempotencyStorage) {
    storage.registerSource(new WitnessStore(store, acknowledgements, stalls));
  }
}

interface Arrived {
  arrived: number;
}

@Controller('charges')
class ChargesController {
  constructor(@Inject(Charges) private readonly charges: Charges) {}

  @Post()
  // As an answer is stored that is kept by a transaction, of which nobody knows yet how it ends.
  @HttpCode(200)
  @Idempotent({ required: true, scope: false })
  create(@Body() charge: Charge, @Req() { arrived }: Arrived): Promise<Charged> {
    return this.charges.charge(charge, arrived);
  }
}

function chargesWith(service: IdempotencyService): Charges {
  const random = new Random(settings.seed);
  const effects = poolOf(settings.effectsUrl);
  if (!settings.joined) return new SeparateCharges({ settings, random, effects });

  const parts: JoinedParts = { service, acknowledgements, store: store as PostgresIdempotencyStore };
  return new JoinedCharges({ settings, random, effects }, parts);
}

@Module({
  imports: [
    IdempotencyModule.forRoot({
      lockTtl: settings.lockTtl,
      storeTimeout: settings.storeTimeout,
      ttl: '1h',
      exposeKeys: true,
    }),
  ],
  controllers: [ChargesController],
  providers: [StoreRegistration, { provide: Charges, inject: [IdempotencyService], useFactory: chargesWith }],
})
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['error', 'warn'] });
// Clients come as through a load balancer, which tells their host.
app.set('trust proxy', 'loopback');
app.use((request: Arrived, _response: unknown, next: () => void) => {
  request.arrived = moment();
  next();
});
await app.listen(settings.port, '127.0.0.1');
stalls.watch();
process.send?.('listening');
// Whoever has started it is gone.
process.on('disconnect', () => process.exit());
