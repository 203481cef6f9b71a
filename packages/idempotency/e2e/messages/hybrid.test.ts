import { Controller, type INestApplication, type Type } from '@nestjs/common';
import { MessagePattern, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { Idempotent, IdempotencyModule } from '../../src/index.js';
import { CapturedLog } from '../fixtures/captured-log.js';
import { afterTest, cleanUp } from '../fixtures/microservice.js';

@Controller()
@Idempotent()
class Orders {
  @MessagePattern('create')
  create() {}

  @MessagePattern('free')
  @Idempotent(false)
  free() {}
}

@Controller()
class Plain {
  @MessagePattern('plain')
  plain() {}
}

const TCP: MicroserviceOptions = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } };
const INHERIT = { inheritAppConfig: true } as const;

describe('A hybrid application', () => {
  afterEach(cleanUp);

  async function create(...controllers: Type[]): Promise<{ app: INestApplication; log: CapturedLog }> {
    const log = new CapturedLog();
    const module = await Test.createTestingModule({ imports: [IdempotencyModule.forRoot({})], controllers })
      .setLogger(log)
      .compile();
    const app = module.createNestApplication({ logger: log });
    afterTest(() => app.close());
    return { app, log };
  }

  it('is warned of a microservice that runs without keys', async () => {
    const { app, log } = await create(Orders, Plain);
    app.connectMicroservice(TCP, INHERIT);
    app.connectMicroservice(TCP);
    await app.init();

    expect(log.own).toEqual([
      '@Idempotent() on Orders.create() has no effect on messages: a microservice was connected without the global ' +
        'interceptors of the application. Connect it with app.connectMicroservice(options, { inheritAppConfig: true }).',
    ]);
  });

  it.each([
    ['inherits', [Orders], INHERIT],
    ['has no handler with a key', [Plain], {}],
  ])('is not warned of one that %s', async (_what, controllers, options) => {
    const { app, log } = await create(...controllers);
    app.connectMicroservice(TCP, options);
    await app.init();

    expect(log.own).toEqual([]);
  });
});
