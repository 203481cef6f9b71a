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
  pool.on('error', (error) => new Logger('Database').warn(error.message));

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

export function connectRedis(url: string): Redis {
  // While Redis is away, calls are refused with 503 at once; waiting for it would hold up every one of them.
  return new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 1 });
}
// #endregion
