import { Logger, type INestApplicationContext } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MINUTE, pass, takeLog, useMachine } from '../test/machine.js';
import { ScriptedStore } from '../test/scripted-store.js';
import {
  IdempotencyEvents,
  IdempotencyModule,
  IdempotencyService,
  IdempotencyStorage,
  type IdempotencyModuleOptions,
} from './index.js';

useMachine();

interface Started {
  readonly app: INestApplicationContext;
  readonly service: IdempotencyService;
  readonly store: ScriptedStore;
  readonly types: string[];
}

async function start(options: IdempotencyModuleOptions = {}): Promise<Started> {
  vi.spyOn(Logger.prototype, 'log').mockImplementation(() => {});
  const store = new ScriptedStore();
  const module = await Test.createTestingModule({
    imports: [IdempotencyModule.forRoot(options)],
    providers: [
      {
        provide: 'store',
        inject: [IdempotencyStorage],
        useFactory: (storage: IdempotencyStorage) => storage.registerSource(store),
      },
    ],
  })
    .setLogger(false as never)
    .compile();
  const app = await module.init();
  const types: string[] = [];
  const { events$ } = app.get(IdempotencyEvents);
  events$.subscribe({ next: ({ type }) => void types.push(type), complete: () => types.push('completed') });

  return { app, service: app.get(IdempotencyService), store, types };
}

const wait = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('done'), ms));

describe('An application that closes', () => {
  it('waits for what runs, keeps its outcome, and completes the events', async () => {
    const { app, service, types, store } = await start();
    const run = service.run('k', () => wait(2_000), { name: 'job' });
    await pass(0);
    const closed = vi.fn();
    void app.close().then(closed);
    await pass(1_999);
    expect(closed).not.toHaveBeenCalled();
    await pass(1);

    expect(await run).toBe('done');
    await pass(0);
    expect(closed).toHaveBeenCalledOnce();
    expect(types).toEqual(['executed', 'stored', 'completed']);
    expect(store.asked.at(-2)).toMatchObject({ method: 'extend', ttl: 5_000 });
  });

  it('does so for shutdownGrace, and not longer', async () => {
    const { app, service, types } = await start({ shutdownGrace: '1s' });
    void service.run('k', () => wait(MINUTE), { name: 'job' });
    await pass(0);
    const closed = vi.fn();
    void app.close().then(closed);
    await pass(999);
    expect(closed).not.toHaveBeenCalled();
    await pass(1);
    expect([closed.mock.calls.length, types]).toEqual([1, ['completed']]);
    await pass(MINUTE);
  });

  it('waits while the pools of other modules are still open, whatever the order of modules', async () => {
    const order: string[] = [];
    vi.spyOn(Logger.prototype, 'log').mockImplementation(() => {});
    const module = await Test.createTestingModule({
      imports: [IdempotencyModule.forRoot()],
      providers: [
        { provide: 'pool', useValue: { onApplicationShutdown: () => void order.push('pool closed') } },
        {
          provide: 'store',
          inject: [IdempotencyStorage],
          useFactory: (storage: IdempotencyStorage) => storage.registerSource(new ScriptedStore()),
        },
      ],
    })
      .setLogger(false as never)
      .compile();
    const app = await module.init();
    app.get(IdempotencyEvents).events$.subscribe(({ type }) => void order.push(type));
    void app.get(IdempotencyService).run('k', () => wait(2_000), { name: 'job' });
    await pass(0);
    void app.close();
    await pass(2_000);

    expect(order).toEqual(['executed', 'stored', 'pool closed']);
  });

  it('may be closed twice', async () => {
    const { app, types } = await start();
    await app.close();
    await app.close();

    expect(types).toEqual(['completed']);
  });

  it('runs what still comes, and keeps its outcome', async () => {
    const { app, service, store } = await start();
    await app.close();

    expect(await service.run('k', async () => 'late', { name: 'job' })).toBe('late');
    expect(store.memory.size).toBe(1);
  });
});

describe('Options that are refused', () => {
  const boot = (options: unknown): Promise<unknown> =>
    Test.createTestingModule({ imports: [IdempotencyModule.forRootAsync({ useFactory: () => options as object })] })
      .setLogger(false as never)
      .compile();

  it.each<[unknown, RegExp]>([
    [undefined, /^IdempotencyModule: expected an options object, got undefined\./],
    [null, /^IdempotencyModule: expected an options object, got null\./],
    ['correct horse', /^IdempotencyModule: expected an options object, got a string\./],
    [{ isGlobal: false }, /^IdempotencyModule\.isGlobal: it has no effect in what a factory returns/],
    [{ imports: [] }, /^IdempotencyModule\.imports: /],
    [{ store: {} }, /^IdempotencyModule\.store: stores are not an option/],
    [{ ttl: '1y' }, /^IdempotencyModule\.ttl: Invalid duration "1y"/],
    [{ replayHeaders: ['Set-Cookie'] }, /^IdempotencyModule\.replayHeaders\[0\]: "set-cookie"/],
    [{ encryption: { keys: [] } }, /^IdempotencyModule\.encryption\.keys/],
    [{ encryption: { keys: ['a'.repeat(32), ' padded'.padEnd(40, 'x')] } }, /^IdempotencyModule\.encryption\.keys\[/],
    [
      { encryptionKey: 'correct horse' },
      /^IdempotencyModule\.encryptionKey: unknown option\. Did you mean "encryption"\?$/,
    ],
  ])('end the start of the application: %j', async (options, message) => {
    const error: unknown = await boot(options).catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain('horse');
  });

  it.each<[unknown, RegExp]>([
    [5, /^IdempotencyModule: expected an options object, got a number/],
    [{}, /forRootAsync\(\) was given nothing that makes the options/],
    [{ useFactory: () => ({}), encryptionKey: 'correct horse' }, /^IdempotencyModule\.encryptionKey: unknown option\./],
  ])('end the start where they are given: %j', (options, message) => {
    expect(() => IdempotencyModule.forRootAsync(options as never)).toThrow(message);
    expect(() => IdempotencyModule.forRoot('correct horse' as never)).toThrow(/got a string\. forRoot\(\) takes/);
  });
});

describe('A module that is loaded lazily, whose hooks nobody calls,', () => {
  afterEach(() => vi.unstubAllEnvs());

  async function load(options: IdempotencyModuleOptions): Promise<IdempotencyService> {
    vi.spyOn(Logger.prototype, 'log').mockImplementation(() => {});
    const module = await Test.createTestingModule({})
      .setLogger(false as never)
      .compile();
    const app = await module.init();
    const lazy = await app.get(LazyModuleLoader).load(() => IdempotencyModule.forRoot(options));
    await app.close();

    return lazy.get(IdempotencyService);
  }

  it('lets no call run in production on records that a restart loses', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const service = await load({});
    const work = vi.fn(() => 1);

    await expect(service.run('k', work, { name: 'job' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_STORE_UNAVAILABLE',
      cause: { message: expect.stringContaining('No idempotency store is registered') as string },
    });
    expect(work).not.toHaveBeenCalled();
    expect(takeLog().join()).toContain('the store failed in acquire()');
  });

  it('does where that is meant so', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const service = await load({ allowInMemoryStorage: true });

    expect(await service.run('k', () => 1, { name: 'job' })).toBe(1);
  });
});
