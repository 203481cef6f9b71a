import { Controller, Injectable, Module, Post, type INestApplication, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  IDEMPOTENCY_MODULE_OPTIONS,
  IdempotencyEvents,
  IdempotencyModule,
  IdempotencyService,
  IdempotencyStorage,
  Idempotent,
  InMemoryIdempotencyStore,
  type IdempotencyModuleAsyncOptions,
  type IdempotencyModuleOptions,
  type IdempotencyOptionsFactory,
} from '../src/index.js';
import { CapturedLog } from './fixtures/captured-log.js';
import { call, type Answer } from './fixtures/client.js';
import { sourceOf } from './fixtures/stores.js';

let runs: number;
const opened: INestApplication[] = [];

beforeEach(() => {
  runs = 0;
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(opened.splice(0).map((app) => app.close()));
});

@Controller()
class Orders {
  @Post()
  @Idempotent({ required: true })
  create() {
    runs += 1;

    return { runs };
  }
}

async function open(metadata: ModuleMetadata): Promise<INestApplication> {
  const log = new CapturedLog();
  const module = await Test.createTestingModule(metadata).setLogger(log).compile();
  const app = module.createNestApplication({ logger: log });
  opened.push(app);

  return app;
}

/** What a call with a key in the header `X-Once` is answered with, and the same call again. */
async function twice(app: INestApplication): Promise<readonly Answer[]> {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const send = (): Promise<Answer> => call(url, { headers: { 'x-once': 'k' } });

  return [await send(), await send()];
}

const ONCE: IdempotencyModuleOptions = { header: 'X-Once', ttl: '1h' };

@Injectable()
class OptionsFactory implements IdempotencyOptionsFactory {
  createIdempotencyOptions(): IdempotencyModuleOptions {
    return ONCE;
  }
}

@Injectable()
class LateOptionsFactory implements IdempotencyOptionsFactory {
  createIdempotencyOptions(): Promise<IdempotencyModuleOptions> {
    return Promise.resolve(ONCE);
  }
}

@Module({ providers: [OptionsFactory, { provide: 'HEADER', useValue: 'X-Once' }], exports: [OptionsFactory, 'HEADER'] })
class SettingsModule {}

describe('The module', () => {
  it('needs no options', async () => {
    const app = await open({ imports: [IdempotencyModule.forRoot()], controllers: [Orders] });
    await app.listen(0, '127.0.0.1');
    const answer = await call(await app.getUrl(), { headers: { 'idempotency-key': 'k' } });

    expect(answer.status).toBe(201);
  });

  const ways: readonly (readonly [string, IdempotencyModuleAsyncOptions])[] = [
    ['a function', { useFactory: () => ONCE }],
    ['a function that takes its time', { useFactory: () => Promise.resolve(ONCE) }],
    [
      'a function that is given what another module has',
      { imports: [SettingsModule], inject: ['HEADER'], useFactory: (header: string) => ({ ...ONCE, header }) },
    ],
    ['a class', { useClass: OptionsFactory }],
    ['a class that takes its time', { useClass: LateOptionsFactory }],
    ['a provider of another module', { imports: [SettingsModule], useExisting: OptionsFactory }],
  ];

  it.each(ways)('has its options from %s', async (_what, options) => {
    const app = await open({ imports: [IdempotencyModule.forRootAsync(options)], controllers: [Orders] });
    const [first, again] = await twice(app);

    expect([first?.status, again?.replayed, runs]).toEqual([201, true, 1]);
    expect(app.get(IDEMPOTENCY_MODULE_OPTIONS)).toEqual(ONCE);
  });

  it('keeps its options as they were given, times included', async () => {
    const app = await open({ imports: [IdempotencyModule.forRoot(ONCE)] });

    expect(app.get(IDEMPOTENCY_MODULE_OPTIONS)).toEqual({ header: 'X-Once', ttl: '1h' });
  });
});

@Injectable()
class Uses {
  constructor(
    readonly storage: IdempotencyStorage,
    readonly events: IdempotencyEvents,
    readonly service: IdempotencyService,
  ) {}
}

@Module({ providers: [Uses], exports: [Uses] })
class ElsewhereModule {}

describe('What the module provides', () => {
  it.each([{}, { isGlobal: true }, { isGlobal: undefined }])('can be injected everywhere: %j', async (options) => {
    const app = await open({ imports: [IdempotencyModule.forRoot(options), ElsewhereModule] });

    expect(app.get(Uses)).toMatchObject({
      storage: expect.any(IdempotencyStorage) as unknown,
      events: expect.any(IdempotencyEvents) as unknown,
      service: expect.any(IdempotencyService) as unknown,
    });
  });

  it.each([
    ['forRoot()', () => IdempotencyModule.forRoot({ ...ONCE, isGlobal: false })],
    ['forRootAsync()', () => IdempotencyModule.forRootAsync({ isGlobal: false, useFactory: () => ONCE })],
  ])(
    'with isGlobal: false is for modules that import it, while handlers everywhere have keys: %s',
    async (_how, register) => {
      @Module({ imports: [register()], providers: [Uses], exports: [Uses] })
      class KeysModule {}

      @Module({ controllers: [Orders] })
      class OrdersModule {}

      await expect(open({ imports: [KeysModule, ElsewhereModule] })).rejects.toThrow(
        /can't resolve dependencies of the Uses/,
      );
      const app = await open({ imports: [KeysModule, OrdersModule] });
      const [first, again] = await twice(app);

      expect(app.get(Uses).storage).toBeInstanceOf(IdempotencyStorage);
      expect([first?.status, again?.replayed, runs]).toEqual([201, true, 1]);
    },
  );

  it.each(['no', 1, null])('is not told by %j whether it is global', (isGlobal) => {
    expect(() => IdempotencyModule.forRoot({ isGlobal } as object)).toThrow(
      /^IdempotencyModule\.isGlobal: expected true or false/,
    );
  });
});

describe('In production the application', () => {
  const start = async (options: IdempotencyModuleOptions, providers: ModuleMetadata['providers'] = []) => {
    vi.stubEnv('NODE_ENV', 'production');
    const app = await open({ imports: [IdempotencyModule.forRoot(options)], providers });

    return await app.init();
  };

  it('does not start without a store', async () => {
    await expect(start({})).rejects.toThrow(/^No idempotency store is registered/);
    await expect(start({ allowInMemoryStorage: false })).rejects.toThrow(/^No idempotency store is registered/);
  });

  it('starts with one, or when it is told that memory will do', async () => {
    await start({}, [sourceOf(() => ({}))]);
    const { storage } = (await start({ allowInMemoryStorage: true }, [Uses])).get(Uses);

    expect(storage.source).toBeInstanceOf(InMemoryIdempotencyStore);
  });
});
