import { Controller, Get, Injectable, Module, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { boot, closeAll } from '../test/boot.js';
import {
  CircuitBreaker,
  Resilience,
  RESILIENCE_MODULE_OPTIONS,
  ResilienceContext,
  ResilienceEvents,
  ResilienceModule,
  ResilienceService,
  Timeout,
  type ResilienceEvent,
  type ResilienceModuleOptions,
  type ResilienceOptionsFactory,
} from './index.js';

afterEach(closeAll);

const options: ResilienceModuleOptions = {
  presets: { carrier: { timeout: '2s', circuitBreaker: { minimumCalls: 4 } } },
};

@Injectable()
class OptionsFactory implements ResilienceOptionsFactory {
  createResilienceOptions(): ResilienceModuleOptions {
    return options;
  }
}

@Module({ providers: [OptionsFactory], exports: [OptionsFactory] })
class OptionsModule {}

@Controller('shop')
class Shop {
  @Get()
  @Resilience('carrier')
  list(): string[] {
    return [];
  }
}

function breakerOf(app: INestApplication | undefined) {
  return (app as INestApplication).get(ResilienceService).circuitBreaker('carrier');
}

describe('the module', () => {
  it.each([
    ['forRoot()', ResilienceModule.forRoot(options)],
    ['a factory', ResilienceModule.forRootAsync({ useFactory: () => options })],
    ['a factory that takes its time', ResilienceModule.forRootAsync({ useFactory: () => Promise.resolve(options) })],
    [
      'a factory with dependencies',
      ResilienceModule.forRootAsync({
        imports: [OptionsModule],
        inject: [OptionsFactory],
        useFactory: (factory: OptionsFactory) => factory.createResilienceOptions(),
      }),
    ],
    ['a class', ResilienceModule.forRootAsync({ useClass: OptionsFactory })],
    ['an existing provider', ResilienceModule.forRootAsync({ imports: [OptionsModule], useExisting: OptionsFactory })],
  ])('is configured by %s', async (_case, module) => {
    const { app } = await boot({ imports: [module], controllers: [Shop] });

    expect(breakerOf(app).options.minimumCalls).toBe(4);
  });

  it('needs no options', async () => {
    const { error, app } = await boot({ imports: [ResilienceModule.forRoot()] });

    expect(error).toBeUndefined();
    expect(app?.get(ResilienceService).budgets()).toEqual([]);
  });

  it('accepts options that are undefined as absent ones', async () => {
    const given = {
      defaults: undefined,
      presets: undefined,
      mapErrors: undefined,
      isGlobal: undefined,
      clientTimeout: undefined,
      strictNames: undefined,
    };

    expect(await boot({ options: given })).toMatchObject({ error: undefined, warnings: [] });
  });

  it('is checked when its providers are made, before anything is initialised', async () => {
    const module = Test.createTestingModule({ imports: [ResilienceModule.forRoot({ defaults: { timeout: 0 } })] });

    await expect(module.compile()).rejects.toThrow('defaults.timeout: Invalid duration 0');
  });

  it('can be given other options in a test', async () => {
    const module = await Test.createTestingModule({ imports: [ResilienceModule.forRoot(options)] })
      .overrideProvider(RESILIENCE_MODULE_OPTIONS)
      .useValue({ presets: { carrier: { circuitBreaker: { minimumCalls: 7 } } } } satisfies ResilienceModuleOptions)
      .compile();

    expect(module.get(ResilienceService).circuitBreaker('carrier').options.minimumCalls).toBe(7);
  });

  it('can be overridden with the very options that say whether it is global', async () => {
    const local: ResilienceModuleOptions = { isGlobal: false };
    const module = await Test.createTestingModule({ imports: [ResilienceModule.forRoot(local)] })
      .overrideProvider(RESILIENCE_MODULE_OPTIONS)
      .useValue(local)
      .compile();

    await expect(module.init()).resolves.toBeDefined();
  });
});

describe('isGlobal', () => {
  @Injectable()
  class Job {
    constructor(
      readonly resilience: ResilienceService,
      readonly events: ResilienceEvents,
      readonly context: ResilienceContext,
    ) {}
  }

  @Module({ providers: [Job] })
  class Elsewhere {}

  it.each([undefined, true])('is on when it is %s: every module can inject what it exports', async (isGlobal) => {
    const { app } = await boot({ imports: [ResilienceModule.forRoot({ isGlobal }), Elsewhere] });

    expect(app?.get(Job, { strict: false }).resilience).toBeInstanceOf(ResilienceService);
  });

  it('is off when it is false', async () => {
    const { error } = await boot({ imports: [ResilienceModule.forRoot({ isGlobal: false }), Elsewhere] });

    expect(error).toMatchObject({
      message: expect.stringContaining("Nest can't resolve dependencies of the Job") as string,
    });
  });

  it('is off when it is false beside a factory', async () => {
    const module = ResilienceModule.forRootAsync({ isGlobal: false, useFactory: () => ({}) });
    const { error } = await boot({ imports: [module, Elsewhere] });

    expect(error).toMatchObject({
      message: expect.stringContaining("Nest can't resolve dependencies of the Job") as string,
    });
  });

  it('does not limit the interceptor, which serves the whole application', async () => {
    @Controller('elsewhere')
    class Hanging {
      @Get()
      @Timeout(20)
      hang(): Promise<never> {
        return new Promise(() => {});
      }
    }

    @Module({ controllers: [Hanging] })
    class HangingModule {}

    const { app } = await boot({ imports: [ResilienceModule.forRoot({ isGlobal: false }), HangingModule] });
    const response = await request(app?.getHttpServer() as never).get('/elsewhere');

    expect(response.status).toBe(504);
  });
});

describe('what is exported', () => {
  it('is the service, the events and the context, and nothing else', () => {
    expect(Reflect.getMetadata('exports', ResilienceModule)).toEqual([
      ResilienceService,
      ResilienceEvents,
      ResilienceContext,
    ]);
  });
});

describe('two applications in one process', () => {
  it('share neither state nor events', async () => {
    const one = await boot({ controllers: [Shop], options });
    const two = await boot({ controllers: [Shop], options });
    const seen: ResilienceEvent[] = [];
    two.app?.get(ResilienceEvents).events$.subscribe((event) => seen.push(event));

    breakerOf(one.app).trip();

    expect(breakerOf(one.app).state).toBe('open');
    expect(breakerOf(two.app).state).toBe('closed');
    expect(seen).toEqual([]);
  });

  it('end by themselves', async () => {
    const one = await boot({ controllers: [Shop], options });
    const two = await boot({ controllers: [Shop], options });
    const seen: string[] = [];
    two.app?.get(ResilienceEvents).events$.subscribe(({ type }) => seen.push(type));

    await one.app?.close();
    breakerOf(two.app).trip();

    expect(seen).toEqual(['circuit-open']);
  });
});

describe('the end of an application', () => {
  it('completes the events after what is reported on the way', async () => {
    @Injectable()
    class Closing {
      constructor(private readonly resilience: ResilienceService) {}

      beforeApplicationShutdown(): void {
        this.resilience.circuitBreaker('carrier').trip();
      }
    }
    const { app } = await boot({ controllers: [Shop], providers: [Closing], options });
    const seen: string[] = [];
    app?.get(ResilienceEvents).events$.subscribe({
      next: ({ type }) => seen.push(type),
      complete: () => seen.push('complete'),
    });

    await app?.close();

    expect(seen).toEqual(['circuit-open', 'complete']);
  });
});

describe('the order of classes', () => {
  it('does not matter for a name that is used before it is configured', async () => {
    @Controller('first')
    class First {
      @Get()
      @Timeout('1s')
      @CircuitBreaker('shared')
      list(): void {}
    }

    @Controller('second')
    class Second {
      @Get()
      @Timeout('1s')
      @CircuitBreaker({ name: 'shared', minimumCalls: 3 })
      list(): void {}
    }
    const { app, warnings } = await boot({ controllers: [First, Second] });

    expect(app?.get(ResilienceService).circuitBreaker('shared').options.minimumCalls).toBe(3);
    expect(warnings).toEqual([]);
  });
});
