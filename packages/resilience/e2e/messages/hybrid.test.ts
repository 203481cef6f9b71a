import { Controller, Get, Injectable, Post, Scope, type INestApplication, type Type } from '@nestjs/common';
import { MessagePattern, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { CircuitBreaker, Resilience, ResilienceModule, Retry, Timeout } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CapturedLog } from '../fixtures/application.js';
import { Backend, DependencyError } from '../fixtures/backend.js';
import { call } from '../fixtures/client.js';
import { afterTest, cleanUp, clientsOf, patternOf, TRANSPORTS } from '../fixtures/microservice.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
  backend.script((one) => one.fail(new DependencyError(503)));
});
afterEach(cleanUp);

@Controller('quotes')
class QuotesController {
  @Get()
  @Resilience('carrier')
  get() {
    return backend.call();
  }
}

@Controller()
class QuotesHandlers {
  @MessagePattern(patternOf('quotes'))
  @Resilience('carrier')
  get() {
    return backend.call();
  }
}

@Controller()
class OddController {
  @Post('odd')
  @Retry()
  post() {}
}

@Controller()
class PlainHandlers {
  @MessagePattern(patternOf('plain'))
  get() {
    return 'plain';
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {}

@Controller()
class ScopedHandlers {
  constructor(readonly perRequest: PerRequest) {}

  @MessagePattern(patternOf('scoped'))
  @Timeout('1s')
  @CircuitBreaker()
  get() {
    return backend.call();
  }
}

const TCP = (): MicroserviceOptions => TRANSPORTS.TCP.options();
const INHERIT = { inheritAppConfig: true } as const;
const WARNING =
  '[ResilienceModule] Resilience decorators on QuotesHandlers.get() have no effect on messages: a microservice was ' +
  'connected without the global interceptors of the application. Connect it with app.connectMicroservice(options, { ' +
  'inheritAppConfig: true }).';

describe('A hybrid application', () => {
  const create = async (...handlers: Type[]): Promise<{ app: INestApplication; log: CapturedLog }> => {
    const log = new CapturedLog();
    const presets = { carrier: { timeout: '1s', circuitBreaker: { minimumCalls: 1 } } } as const;
    const module = await Test.createTestingModule({
      imports: [ResilienceModule.forRoot({ presets })],
      controllers: [QuotesController, ...handlers],
      providers: [PerRequest],
    })
      .setLogger(log)
      .compile();
    const app = module.createNestApplication({ logger: log });
    afterTest(() => app.close());
    return { app, log };
  };
  const warnings = ({ lines }: CapturedLog) => lines.filter((line) => line.includes('inheritAppConfig'));

  it('has one breaker of a preset for its routes and its handlers', async () => {
    const { app, log } = await create(QuotesHandlers);
    const microservice = app.connectMicroservice<MicroserviceOptions>(TCP(), INHERIT);
    await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    const { send } = await clientsOf(TCP(), microservice);

    expect((await call(`${await app.getUrl()}/quotes`)).status).toBe(500);
    await expect(send(patternOf('quotes'))).rejects.toMatchObject({ code: 'CIRCUIT_OPEN', statusCode: 503 });
    expect(backend.calls).toHaveLength(1);
    expect(warnings(log)).toEqual([]);
  });

  it('answers as it is documented also before it has been initialized', async () => {
    const { app } = await create(QuotesHandlers);
    const microservice = app.connectMicroservice<MicroserviceOptions>(TCP(), INHERIT);
    await app.startAllMicroservices();
    const { send } = await clientsOf(TCP(), microservice);

    await expect(send(patternOf('quotes'))).rejects.toHaveProperty('message', 'Internal server error');
    await expect(send(patternOf('quotes'))).rejects.toMatchObject({ code: 'CIRCUIT_OPEN', statusCode: 503 });
  });

  it('warns at boot when a microservice does not inherit, whose decorators do nothing', async () => {
    const { app, log } = await create(QuotesHandlers, PlainHandlers);
    const microservice = app.connectMicroservice<MicroserviceOptions>(TCP());
    await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    const { send } = await clientsOf(TCP(), microservice);

    expect(warnings(log)).toEqual([WARNING]);
    for (let n = 1; n <= 2; n++) await expect(send(patternOf('quotes'))).rejects.toHaveProperty('status', 'error');
    expect(backend.calls).toHaveLength(2);
  });

  it('warns of the one that does not, also right before one that does', async () => {
    const { app, log } = await create(QuotesHandlers);
    app.connectMicroservice(TCP());
    app.connectMicroservice(TCP(), INHERIT);
    await app.init();

    expect(warnings(log)).toEqual([WARNING]);
  });

  it.each([
    ['before the application, and before one that inherits', true, [{}, INHERIT]],
    ['after the application, and after one that inherits', false, [INHERIT, {}]],
  ])('warns of one that is initialized later, and of nothing twice: %s', async (_when, first, configurations) => {
    const { app, log } = await create(QuotesHandlers, PlainHandlers, OddController);
    for (const configuration of configurations) {
      app.connectMicroservice(TCP(), { ...configuration, deferInitialization: true });
    }
    if (first) await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    if (!first) await app.startAllMicroservices();

    expect(warnings(log)).toEqual([WARNING]);
    expect(log.warnings.filter((line) => line.includes('OddController'))).toHaveLength(1);
  });

  it('says nothing of one that is initialized later and inherits', async () => {
    const { app, log } = await create(QuotesHandlers);
    const microservice = app.connectMicroservice<MicroserviceOptions>(TCP(), { ...INHERIT, deferInitialization: true });
    await app.listen(0, '127.0.0.1');
    await app.startAllMicroservices();
    const { send } = await clientsOf(TCP(), microservice);

    await expect(send(patternOf('quotes'))).rejects.toHaveProperty('message', 'Internal server error');
    await expect(send(patternOf('quotes'))).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' });
    expect(warnings(log)).toEqual([]);
  });

  it('warns also when it is connected after the boot', async () => {
    const { app, log } = await create(QuotesHandlers);
    await app.init();
    app.connectMicroservice(TCP());
    await Promise.resolve();

    expect(warnings(log)).toEqual([WARNING]);
  });

  it.each([
    ['has no decorated handler of messages', [PlainHandlers]],
    ['has request-scoped ones only, of which nothing can be said', [ScopedHandlers]],
  ])('says nothing when it %s', async (_what, handlers) => {
    const { app, log } = await create(...handlers);
    app.connectMicroservice(TCP());
    await app.init();

    expect(warnings(log)).toEqual([]);
  });

  it('says nothing when the microservice inherits, before the boot or after', async () => {
    const { app, log } = await create(QuotesHandlers);
    app.connectMicroservice(TCP(), INHERIT);
    await app.init();
    app.connectMicroservice(TCP(), INHERIT);
    await Promise.resolve();

    expect(warnings(log)).toEqual([]);
  });
});

describe('A microservice that stands alone', () => {
  it('needs nothing, and is not warned of', async () => {
    const log = new CapturedLog();
    const module = await Test.createTestingModule({
      imports: [ResilienceModule.forRoot({ presets: { carrier: { timeout: '1s' } } })],
      controllers: [QuotesHandlers],
    })
      .setLogger(log)
      .compile();
    const app = module.createNestMicroservice<MicroserviceOptions>({ transport: Transport.TCP, options: { port: 0 } });
    afterTest(() => app.close());
    await app.listen();

    expect(log.warnings).toEqual([]);
  });
});
