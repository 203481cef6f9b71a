import { Controller, Get, Injectable, Module, type DynamicModule } from '@nestjs/common';
import {
  Resilience,
  RESILIENCE_MODULE_OPTIONS,
  ResilienceModule,
  ResilienceService,
  type ResilienceModuleOptions,
  type ResilienceOptionsFactory,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.fail(new Error('down')));
});

@Injectable()
class Job {
  readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.preset('carrier');
  }
}

@Controller()
class CarrierController {
  @Get()
  @Resilience('carrier')
  get() {
    return backend.call();
  }
}

const production: ResilienceModuleOptions = {
  presets: { carrier: { retry: 2, timeout: '2s', circuitBreaker: { openDuration: '30s' } } },
};

@Injectable()
class Settings implements ResilienceOptionsFactory {
  createResilienceOptions(): Promise<ResilienceModuleOptions> {
    return Promise.resolve(withAttempts(4));
  }
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

const withAttempts = (attempts: number): ResilienceModuleOptions => ({
  presets: { carrier: { retry: { attempts, backoff: { delay: 0 } }, timeout: '2s', circuitBreaker: {} } },
});

onBothAdapters('Options that a test overrides', (start) => {
  it('take the place of those of the module, entirely', async () => {
    const { call, resilience, app } = await start({
      controllers: [CarrierController],
      providers: [Job],
      options: production,
      override: (builder) =>
        builder.overrideProvider(RESILIENCE_MODULE_OPTIONS).useValue({
          presets: {
            carrier: {
              retry: { attempts: 3, backoff: { delay: 0 } },
              timeout: '2s',
              circuitBreaker: { openDuration: 50 },
            },
          },
        } satisfies ResilienceModuleOptions),
    });

    await call('/');
    expect(backend.calls).toHaveLength(3);
    const breaker = resilience.circuitBreaker('carrier');
    freezeTime();
    breaker.trip();
    await vi.advanceTimersByTimeAsync(49);
    expect(breaker.state).toBe('open');
    await vi.advanceTimersByTimeAsync(1);
    expect(breaker.state).toBe('half-open');
    expect(app.get(Job).policy).toBe(resilience.preset('carrier'));
  });

  it('are checked like others', async () => {
    const starting = start({
      controllers: [CarrierController],
      options: production,
      override: (builder) =>
        builder.overrideProvider(RESILIENCE_MODULE_OPTIONS).useValue({ presets: { carrier: { timeout: NaN } } }),
    });

    await expect(starting).rejects.toThrow(/^presets\.carrier\.timeout: /);
  });

  it('may switch the mapping of errors off', async () => {
    const { call, resilience } = await start({
      controllers: [CarrierController],
      options: production,
      override: (builder) =>
        builder.overrideProvider(RESILIENCE_MODULE_OPTIONS).useValue({ ...production, mapErrors: false }),
    });
    resilience.circuitBreaker('carrier').trip();

    expect((await call('/')).status).toBe(500);
  });
});

describe('Ways to give the options', () => {
  onBothAdapters('ways', (start) => {
    const ways: [string, DynamicModule, number][] = [
      ['forRoot', ResilienceModule.forRoot(withAttempts(2)), 2],
      ['useFactory', ResilienceModule.forRootAsync({ useFactory: () => withAttempts(3) }), 3],
      [
        'useFactory with inject',
        ResilienceModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: (settings: Settings) => settings.createResilienceOptions(),
        }),
        4,
      ],
      ['useClass', ResilienceModule.forRootAsync({ useClass: Settings }), 4],
      ['useExisting', ResilienceModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings }), 4],
      ['not global', ResilienceModule.forRoot({ ...withAttempts(2), isGlobal: false }), 2],
    ];

    it.each(ways)('%s', async (_, resilience, attempts) => {
      const { call } = await start({ controllers: [CarrierController], resilience });

      await call('/');

      expect(backend.calls).toHaveLength(attempts);
    });

    it('reaches controllers of other modules, though it is not global', async () => {
      @Module({ controllers: [CarrierController] })
      class CarrierModule {}

      const { call } = await start({
        imports: [CarrierModule],
        resilience: ResilienceModule.forRoot({ ...withAttempts(2), isGlobal: false }),
      });

      await call('/');

      expect(backend.calls).toHaveLength(2);
    });
  });
});
