// #region postgres
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { IdempotencyStorage } from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { Pool } from 'pg';

@Injectable()
export class PaymentKeys extends PostgresIdempotencyStore implements OnModuleInit {
  constructor(@Inject(Pool) pool: Pool, storage: IdempotencyStorage) {
    super(pool);
    storage.registerSource(this);
  }

  async onModuleInit(): Promise<void> {
    await this.ensureSchema();
  }
}
// #endregion

// #region database-module
import { Global, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';

@Global()
@Module({
  providers: [PaymentKeys, { provide: Pool, useFactory: () => openPool(process.env.DATABASE_URL) }],
  exports: [Pool, PaymentKeys],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(@Inject(Pool) private readonly pool: Pool) {}

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}

function openPool(connectionString: string | undefined): Pool {
  const pool = new Pool({ connectionString });
  // Connections die between statements as well, also while a handler uses them: unheard, that would end the process.
  pool.on('connect', (client) => client.on('error', (error) => new Logger('Database').warn(error.message)));
  // The pool repeats what idle ones say.
  pool.on('error', () => {});

  return pool;
}
// #endregion

// #region joining
import { Body, Controller, Post } from '@nestjs/common';
import { Idempotent, IdempotencyService } from '@nestjs/idempotency';

@Controller('transfers')
export class TransfersController {
  constructor(
    @Inject(Pool) private readonly pool: Pool,
    private readonly keys: PaymentKeys,
    private readonly idempotency: IdempotencyService,
  ) {}

  @Post()
  @Idempotent({ required: true })
  async transfer(@Body() body: { amount: number }): Promise<{ amount: number }> {
    const connection = await this.pool.connect();
    try {
      await connection.query('BEGIN');
      await connection.query('INSERT INTO transfers (amount) VALUES ($1)', [body.amount]);
      // The last thing before the commit. Rejects when another call has the key by now: then nothing happens here.
      await this.idempotency.current?.keep(this.keys.joining(connection), body);
      await connection.query('COMMIT');
      return body;
    } catch (error) {
      await connection.query('ROLLBACK');
      throw error;
    } finally {
      connection.release();
    }
  }
}
// #endregion

// #region redis
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import { Redis } from 'ioredis';

@Injectable()
export class PaymentKeysInRedis extends RedisIdempotencyStore {
  constructor(@Inject(Redis) client: Redis, storage: IdempotencyStorage) {
    super(client, { keyPrefix: 'payments:idem:' });
    storage.registerSource(this);
  }
}

@Global()
@Module({
  providers: [PaymentKeysInRedis, { provide: Redis, useFactory: () => connectRedis(process.env.REDIS_URL) }],
  exports: [Redis, PaymentKeysInRedis],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(Redis) private readonly client: Redis) {}

  onApplicationShutdown(): void {
    this.client.disconnect();
  }
}

async function connectRedis(url = 'redis://localhost:6379'): Promise<Redis> {
  // While Redis is away, calls are refused with 503 at once; waiting for it would hold up every one of them.
  const client = new Redis(url, { lazyConnect: true, enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  client.on('error', (error) => new Logger('Redis').warn(error.message));
  // Without a queue, what is asked before the connection stands would fail.
  await client.connect();

  return client;
}
// #endregion
