import type { AddressInfo, Server } from 'node:net';
import {
  Controller,
  Module,
  Post,
  type INestApplication,
  type INestMicroservice,
  type LoggerService,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Idempotent, IdempotencyModule } from '../../src/index.js';
import { CapturedLog } from '../fixtures/captured-log.js';
import { call } from '../fixtures/client.js';
import { afterTest, cleanUp } from '../fixtures/microservice.js';

let runs: string[] = [];

beforeEach(() => {
  runs = [];
});

@Controller()
@Idempotent()
class Orders {
  @Post('create')
  post() {
    return runs.push('post');
  }

  @MessagePattern('create')
  create() {
    return runs.push('message');
  }

  @MessagePattern('free')
  @Idempotent(false)
  free() {}
}

@Controller()
class Plain {
  @MessagePattern('plain')
  plain() {}
}

class Timing implements NestInterceptor {
  readonly intercept: NestInterceptor['intercept'] = (_context, next) => next.handle();
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Timing }] })
class TimingModule {}

const TCP: MicroserviceOptions = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } };
const INHERIT = { inheritAppConfig: true } as const;

describe('A hybrid application', () => {
  afterEach(cleanUp);

  async function create(
    controllers: Type[],
    before: Type[] = [],
  ): Promise<{ app: INestApplication; log: CapturedLog }> {
    const log = new CapturedLog();
    const imports = [...before, IdempotencyModule.forRoot({})];
    const module = await Test.createTestingModule({ imports, controllers }).setLogger(log).compile();
    const app = module.createNestApplication({ logger: log });
    afterTest(() => app.close());
    return { app, log };
  }

  /** What a message with a key is answered with. */
  async function send(microservice: INestMicroservice, idempotencyKey: string): Promise<unknown> {
    const { port } = microservice.unwrap<Server>().address() as AddressInfo;
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
    afterTest(() => client.close());

    return await firstValueFrom(client.send<unknown>('create', { idempotencyKey }));
  }

  it.each([{}, { deferInitialization: true }])(
    'keeps answers to requests and to messages apart, under one key: %j',
    async (configuration) => {
      const { app } = await create([Orders]);
      const microservice = app.connectMicroservice(TCP, { ...INHERIT, ...configuration });
      await app.startAllMicroservices();
      await app.listen(0, '127.0.0.1');
      const url = `${await app.getUrl()}/create`;
      for (let n = 0; n < 2; n++) {
        expect(await send(microservice, 'k')).toBe(1);
        expect((await call(url, { headers: { 'idempotency-key': 'k' } })).text).toBe('2');
      }

      expect(runs).toEqual(['message', 'post']);
    },
  );

  it('has no keys for messages of a microservice that does not inherit', async () => {
    const { app } = await create([Orders]);
    const microservice = app.connectMicroservice(TCP);
    await app.startAllMicroservices();

    expect([await send(microservice, 'k'), await send(microservice, 'k')]).toEqual([1, 2]);
  });

  it('is told nothing twice, although Nest starts it again for a microservice that is initialized later', async () => {
    const { app, log } = await create([Orders], [TimingModule]);
    const told = vi.spyOn(log as LoggerService, 'log');
    app.connectMicroservice(TCP, { ...INHERIT, deferInitialization: true });
    await app.listen(0, '127.0.0.1');
    await app.startAllMicroservices();

    expect(log.own).toEqual([expect.stringContaining('in front of the idempotency interceptor: Timing.')]);
    expect(told.mock.calls.filter(([line]) => String(line).startsWith('Idempotency records'))).toHaveLength(1);
  });

  it('is warned of a microservice that runs without keys', async () => {
    const { app, log } = await create([Orders, Plain]);
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
  ] as const)('is not warned of one that %s', async (_what, controllers, options) => {
    const { app, log } = await create([...controllers]);
    app.connectMicroservice(TCP, options);
    await app.init();

    expect(log.own).toEqual([]);
  });
});
