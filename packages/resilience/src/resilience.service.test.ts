import { Controller, Get, Injectable, type OnModuleInit } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { boot, closeAll } from '../test/boot.js';
import {
  Budget,
  Bulkhead,
  BulkheadFullError,
  BulkheadPolicy,
  CircuitBreaker,
  CircuitBreakerPolicy,
  CircuitOpenError,
  OutboundRateLimitError,
  OutboundRateLimitPolicy,
  Resilience,
  ResilienceEvents,
  ResilienceModule,
  ResilienceService,
  Retry,
  Timeout,
  type ResilienceEvent,
  type ResilienceModuleOptions,
  type ResiliencePreset,
} from './index.js';

afterEach(closeAll);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });

  return () => vi.useRealTimers();
});

interface Started {
  readonly resilience: ResilienceService;
  readonly seen: ResilienceEvent[];
}

async function start(options: ResilienceModuleOptions = {}): Promise<Started> {
  const module = await Test.createTestingModule({ imports: [ResilienceModule.forRoot(options)] }).compile();
  const seen: ResilienceEvent[] = [];
  module.get(ResilienceEvents).events$.subscribe((event) => seen.push(event));

  return { resilience: module.get(ResilienceService), seen };
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);

  return value;
}

const down = new Error('down');
const fail = () => Promise.reject(down);
const hang = () => new Promise<never>(() => {});

/** Runs a call, moves the clock for as long as it takes, and returns its error. */
async function errorOf(call: Promise<unknown>, ms = 0): Promise<unknown> {
  const caught = call.then(
    () => undefined,
    (error: unknown) => error,
  );
  await vi.advanceTimersByTimeAsync(ms);

  return caught;
}

describe('preset()', () => {
  it('is always the same object, by the name of the preset', async () => {
    const { resilience } = await start({ presets: { carrier: { timeout: '2s' } } });

    expect(resilience.preset('carrier')).toBe(resilience.preset('carrier'));
    expect(resilience.preset('carrier').name).toBe('carrier');
  });

  it('refuses a name that does not exist, with those that do', async () => {
    const { resilience } = await start({ presets: { carrier: {}, partner: {} } });

    expect(() => resilience.preset('carier')).toThrow(
      'Unknown preset "carier". Known: carrier, partner. Did you mean "carrier"?',
    );
    expect(() => resilience.preset('x')).toThrow('Unknown preset "x". Known: carrier, partner.');
  });

  it('says so when there are none', async () => {
    const { resilience } = await start();

    expect(() => resilience.preset('x')).toThrow('Unknown preset "x". Known: (none).');
  });

  it('can be asked for in a constructor', async () => {
    @Injectable()
    class Repricing {
      readonly policy;

      constructor(resilience: ResilienceService) {
        this.policy = resilience.preset('carrier');
      }
    }
    const { app } = await boot({ providers: [Repricing], options: { presets: { carrier: { retry: 2 } } } });

    expect(app?.get(Repricing).policy).toBe(app?.get(ResilienceService).preset('carrier'));
  });

  it('names all its events after the preset, and hands out what its stages are', async () => {
    const { resilience, seen } = await start({
      defaults: { retry: { backoff: { jitter: 'none' } } },
      presets: { carrier: { timeout: 100, retry: 2, fallback: () => 'flat', bulkhead: {}, circuitBreaker: {} } },
    });

    const answer = resilience.preset('carrier').execute(hang, { source: 'Job.run' });
    await vi.advanceTimersByTimeAsync(100 + 200 + 100);

    expect(await answer).toBe('flat');
    expect(seen.map(({ type, policy, source }) => [type, policy, source])).toEqual([
      ['timeout', 'carrier', 'Job.run'],
      ['retry', 'carrier', 'Job.run'],
      ['timeout', 'carrier', 'Job.run'],
      ['fallback', 'carrier', 'Job.run'],
    ]);
  });

  it('always retries, with the fields of the preset over the defaults', async () => {
    const { resilience, seen } = await start({
      defaults: { retry: { attempts: 5, backoff: { delay: 100, jitter: 'none' } } },
      presets: { carrier: { retry: { attempts: 3, backoff: { factor: 3 } } } },
    });
    const work = vi.fn(fail);

    expect(await errorOf(resilience.preset('carrier').execute(work), 400)).toBe(down);
    expect(work).toHaveBeenCalledTimes(3);
    expect(seen.map((event) => event.type === 'retry' && event.delayMs)).toEqual([100, 300]);
  });

  it('retries results', async () => {
    const { resilience } = await start({
      presets: { carrier: { retry: { attempts: 3, backoff: () => 0, retryOnResult: (result) => result !== 'ready' } } },
    });
    const work = vi.fn().mockResolvedValueOnce('busy').mockResolvedValue('ready');
    const answer = resilience.preset('carrier').execute(() => work() as Promise<string>);
    await vi.advanceTimersByTimeAsync(0);

    expect(await answer).toBe('ready');
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('shares its breaker with entrypoints and with whoever asks for it', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @Resilience('carrier')
      list(): void {}
    }
    const { app } = await boot({
      controllers: [Shop],
      options: { presets: { carrier: { timeout: '1s', circuitBreaker: {} } } },
    });
    const resilience = app?.get(ResilienceService) as ResilienceService;
    resilience.circuitBreaker('carrier').trip();

    expect(await errorOf(resilience.preset('carrier').execute(fail))).toBeInstanceOf(CircuitOpenError);
    expect(resilience.circuitBreakers()).toEqual([resilience.circuitBreaker('carrier')]);
  });

  it('shares the bulkhead and the rate limit that a string names', async () => {
    const { resilience } = await start({
      presets: {
        carrier: { bulkhead: { maxConcurrent: 1 }, outboundRateLimit: { limit: 1, interval: '1h' } },
        pool: { bulkhead: 'carrier' },
        tokens: { outboundRateLimit: 'carrier' },
      },
    });
    void resilience.preset('carrier').execute(hang);

    expect(await errorOf(resilience.preset('pool').execute(fail))).toBeInstanceOf(BulkheadFullError);
    expect(await errorOf(resilience.preset('tokens').execute(fail))).toBeInstanceOf(OutboundRateLimitError);
    expect(resilience.bulkheads()).toHaveLength(1);
    expect(resilience.outboundRateLimits()).toHaveLength(1);
  });

  it('shares the instance that a string names', async () => {
    const { resilience } = await start({
      presets: { carrier: { circuitBreaker: {} }, quotes: { circuitBreaker: 'carrier', retry: 1 } },
    });
    resilience.circuitBreaker('carrier').trip();

    expect(await errorOf(resilience.preset('quotes').execute(fail))).toBeInstanceOf(CircuitOpenError);
    expect(resilience.circuitBreakers()).toHaveLength(1);
  });

  it('lets an explicit undefined erase a default of its breaker', async () => {
    const { resilience } = await start({
      defaults: { circuitBreaker: { minimumCalls: 3, openDuration: '5s' } },
      presets: { plain: { circuitBreaker: {} }, erased: { circuitBreaker: { minimumCalls: undefined } } },
    });

    expect(resilience.circuitBreaker('plain').options).toMatchObject({ minimumCalls: 3, openDuration: 5_000 });
    expect(resilience.circuitBreaker('erased').options).toMatchObject({ minimumCalls: 10, openDuration: 5_000 });
  });

  it('takes a window whole', async () => {
    const { resilience } = await start({
      defaults: { circuitBreaker: { slidingWindow: { type: 'count', size: 50 } } },
      presets: { carrier: { circuitBreaker: { slidingWindow: { type: 'time', size: '10s' } } } },
    });

    expect(resilience.circuitBreaker('carrier').options.slidingWindow).toEqual({ type: 'time', size: 10_000 });
  });

  it('writes to nothing that it was given', async () => {
    const options: ResilienceModuleOptions = frozen({
      defaults: { timeout: '5s', retry: { attempts: 3, backoff: { delay: 1 } }, circuitBreaker: { minimumCalls: 5 } },
      presets: {
        carrier: {
          timeout: '2s',
          retry: { attempts: 2, backoff: { factor: 1 } },
          circuitBreaker: { slidingWindow: { type: 'count', size: 10 } },
          bulkhead: { maxQueue: 1 },
          outboundRateLimit: { limit: 5, interval: '1s' },
          fallback: { handler: () => 1 },
        },
      },
    });

    const { resilience } = await start(options);
    const answer = resilience.preset('carrier').execute(fail);
    await vi.advanceTimersByTimeAsync(1);

    expect(await answer).toBe(1);
    expect(resilience.create(options.presets?.carrier as ResiliencePreset)).toBeDefined();
  });
});

describe('create()', () => {
  it('refuses a policy in place of the options of a stage', async () => {
    const { resilience } = await start();
    const given = resilience.create({ retry: 2 });

    // @ts-expect-error -- no policy is options
    const create = (): unknown => resilience.create({ bulkhead: new BulkheadPolicy() });
    expect(create).toThrow(TypeError);
    expect(create).toThrow('bulkhead: expected options or a name, got a BulkheadPolicy. Write options here, or put');
    expect(() => resilience.create({ retry: given as never })).toThrow('retry: expected options, a number of attempts');
    expect(() => resilience.create(given as never)).toThrow('got several policies in one');
  });

  it('makes a new policy each time, whose stages are its own and not listed', async () => {
    const { resilience, seen } = await start();
    const options = frozen({
      circuitBreaker: { minimumCalls: 1 },
      bulkhead: {},
      outboundRateLimit: { limit: 1, interval: 1 },
    } as const);
    const one = resilience.create(options, 'partner');
    const two = resilience.create(options, 'partner');
    await errorOf(one.execute(fail));

    expect(one).not.toBe(two);
    expect(seen).toMatchObject([{ type: 'circuit-open', policy: 'partner' }]);
    expect(await errorOf(two.execute(fail))).toBe(down);
    expect(resilience.circuitBreakers()).toEqual([]);
    expect(resilience.bulkheads()).toEqual([]);
    expect(() => resilience.circuitBreaker('partner')).toThrow('Unknown circuit breaker "partner". Known: (none).');
  });

  it('is called anonymous where it has no name', async () => {
    const { resilience, seen } = await start();
    const policy = resilience.create({ timeout: 100 });
    const error = await errorOf(policy.execute(hang), 100);

    expect(policy.name).toBe('anonymous');
    expect(error).toMatchObject({ policy: 'anonymous' });
    expect(seen).toMatchObject([{ policy: 'anonymous' }]);
  });

  it('without stages runs calls as they are', async () => {
    const { resilience } = await start();

    expect(await resilience.create({}).execute(() => 5)).toBe(5);
  });

  it('fills in the defaults', async () => {
    const { resilience, seen } = await start({
      defaults: { retry: { attempts: 2, backoff: { delay: 7, jitter: 'none' } } },
    });
    await errorOf(resilience.create({ retry: {} }).execute(fail), 7);

    expect(seen).toMatchObject([{ type: 'retry', attempt: 1, delayMs: 7 }]);
  });

  it('registers stages that have a name, and shares them', async () => {
    const { resilience } = await start();
    const one = resilience.create({ circuitBreaker: { name: 'partner', minimumCalls: 1 }, retry: false });
    const two = resilience.create({ circuitBreaker: 'partner' });
    await errorOf(one.execute(fail));

    expect(await errorOf(two.execute(fail))).toBeInstanceOf(CircuitOpenError);
    expect(resilience.circuitBreakers().map(({ name }) => name)).toEqual(['partner']);
  });

  it('refuses a name that is configured in another way', async () => {
    const { resilience } = await start({ presets: { carrier: { bulkhead: { maxConcurrent: 2 } } } });

    expect(() => resilience.create({ bulkhead: { name: 'carrier', maxConcurrent: 3 } }, 'job')).toThrow(
      'Bulkhead "carrier" is configured in two different ways: maxConcurrent is 2 in presets.carrier and 3 in create(…, "job").',
    );
  });

  it.each([
    [{ retry: { attempts: 0 } }, 'retry.attempts: expected a whole number of at least 1, or Infinity, got 0.'],
    [{ timeout: '1 s' }, 'timeout: Invalid duration "1 s"'],
    [{ circuitBreaker: { minimumCalls: 50 } }, 'circuitBreaker.minimumCalls: 50 calls never fit'],
    [
      { bulkhead: { maxQueue: NaN } },
      'bulkhead.maxQueue: expected a whole number of at least 0, or Infinity, got NaN.',
    ],
    [{ outboundRateLimit: { limit: 1 } }, 'outboundRateLimit.interval: Invalid duration undefined'],
    [{ fallback: 5 }, 'fallback: expected an options object, got a number.'],
    [{ retries: 3 }, 'retries: unknown option.'],
    [{ retry: { idempotent: true } }, 'retry.idempotent: given true, but only @Retry({ idempotent: true })'],
    [null, 'expected an options object, got null.'],
  ])('refuses %o at once', async (options, message) => {
    const { resilience } = await start();
    const create = () => resilience.create(options as ResiliencePreset);

    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
  });

  it('registers no name for options that it refuses', async () => {
    const { resilience } = await start();
    const create = (minimumCalls: number) => resilience.create({ circuitBreaker: { name: 'partner', minimumCalls } });

    expect(() => create(50)).toThrow('circuitBreaker.minimumCalls: 50');
    expect(create(5)).toBeDefined();
  });

  it('refuses a rate limit that nobody configures', async () => {
    const { resilience } = await start();

    expect(() => resilience.create({ outboundRateLimit: 'partner' }, 'job')).toThrow(
      'Outbound rate limit "partner", used by create(…, "job"), has no configuration.',
    );
  });

  it('refuses unknown names where they are strict', async () => {
    const { app } = await boot({ options: { strictNames: true, presets: { carrier: { circuitBreaker: {} } } } });
    const resilience = app?.get(ResilienceService) as ResilienceService;

    expect(() => resilience.create({ circuitBreaker: 'redis' }, 'job')).toThrow(
      'Circuit breaker "redis", used by create(…, "job"), is configured nowhere. Configured: carrier.',
    );
    expect(resilience.create({ circuitBreaker: 'carrier' })).toBeDefined();
  });

  it('may use a name that a decorator configures, in onModuleInit()', async () => {
    @Injectable()
    class Job implements OnModuleInit {
      constructor(private readonly resilience: ResilienceService) {}

      onModuleInit(): void {
        this.resilience.create({ circuitBreaker: 'carrier', timeout: '1s' });
      }
    }

    @Controller('shop')
    class Shop {
      @Get()
      @Timeout('1s')
      @CircuitBreaker({ name: 'carrier', minimumCalls: 5 })
      list(): void {}
    }
    const { app, error } = await boot({ providers: [Job], controllers: [Shop], options: { strictNames: true } });

    expect(error).toBeUndefined();
    expect(app?.get(ResilienceService).circuitBreaker('carrier').options.minimumCalls).toBe(5);
  });

  describe('after bootstrap', () => {
    const carrier = { timeout: '1s', circuitBreaker: { minimumCalls: 5 }, bulkhead: {} } as const;

    async function startAll(): Promise<ResilienceService> {
      const { app } = await boot({ options: { presets: { carrier } } });
      if (app === undefined) throw new Error('the application did not come up');

      return app.get(ResilienceService);
    }

    it.each([
      ['circuitBreaker', 'Circuit breaker'],
      ['bulkhead', 'Bulkhead'],
    ] as const)('refuses a %s whose name must be a slip of the pen, each time', async (stage, noun) => {
      const resilience = await startAll();
      for (const name of ['carier', { name: 'carier' }]) {
        expect(() => resilience.create({ timeout: '1s', [stage]: name }, 'job')).toThrow(
          `${noun} "carier", used by create(…, "job"), is configured nowhere. Did you mean "carrier"? If not, choose`,
        );
      }

      expect(resilience.circuitBreakers()).toEqual([]);
      expect(() => resilience.circuitBreaker('carier')).toThrow('Unknown circuit breaker "carier". Known: carrier.');
    });

    it('takes names that are like no configured one, or are configured on the spot', async () => {
      const resilience = await startAll();
      const create = (circuitBreaker: string | { name: string; minimumCalls: number }): unknown =>
        resilience.create({ timeout: '1s', circuitBreaker });

      expect(() => create('payments')).not.toThrow();
      expect(() => create('carrier')).not.toThrow();
      expect(() => create({ name: 'carriers', minimumCalls: 2 })).not.toThrow();
      expect(() => create('carriers')).not.toThrow();
    });
  });

  it('keeps nothing of policies that are dropped', async () => {
    const { resilience } = await start();
    const collectable = new WeakRef(resilience.create({ circuitBreaker: {}, bulkhead: {}, timeout: '1s' }));
    await new Promise((resolve) => setImmediate(resolve));
    global.gc?.();

    expect(collectable.deref()).toBeUndefined();
  });
});

describe('what waits', () => {
  it.each([
    ['between two attempts', { retry: { attempts: 2, backoff: { delay: '1h', maxDelay: '1h', jitter: 'none' } } }],
    ['in a queue', { bulkhead: { maxConcurrent: 1, maxQueue: 1, queueTimeout: '1h' } }],
  ] as const)('%s keeps the process alive', async (_case, options) => {
    vi.useRealTimers();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const { resilience } = await start();
    const policy = resilience.create(options);
    const caller = new AbortController();
    const calls = [hang, fail].map((work) => policy.execute(work, { signal: caller.signal }));
    await new Promise((resolve) => void setImmediate(resolve));

    const made = timers.mock.results.filter((_result, nth) => timers.mock.calls[nth]?.[1] === 3_600_000);
    expect(made.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([true]);

    caller.abort();
    await Promise.allSettled(calls);
  });
});

describe('looking things up', () => {
  const presets = {
    carrier: { circuitBreaker: {}, bulkhead: {}, outboundRateLimit: { limit: 5, interval: '1s' } },
    partner: { circuitBreaker: 'carrier', bulkhead: { maxConcurrent: 1 } },
  } as const;

  it('finds what a preset declares, and makes it when it is asked for', async () => {
    const { resilience } = await start({ presets });

    expect(resilience.circuitBreakers()).toEqual([]);
    expect(resilience.bulkhead('partner')).toBeInstanceOf(BulkheadPolicy);
    expect(resilience.circuitBreaker('carrier')).toBeInstanceOf(CircuitBreakerPolicy);
    expect(resilience.outboundRateLimit('carrier')).toBeInstanceOf(OutboundRateLimitPolicy);
    expect(resilience.bulkheads().map(({ name }) => name)).toEqual(['partner']);
    expect(resilience.outboundRateLimits().map(({ name }) => name)).toEqual(['carrier']);
  });

  it('lists in the order of creation', async () => {
    const { resilience } = await start({ presets });
    resilience.bulkhead('partner');
    resilience.preset('carrier');

    expect(resilience.bulkheads().map(({ name }) => name)).toEqual(['partner', 'carrier']);
  });

  it('refuses names that nobody declared, with those that somebody did', async () => {
    const { resilience } = await start({ presets });

    expect(() => resilience.circuitBreaker('x')).toThrow('Unknown circuit breaker "x". Known: carrier.');
    expect(() => resilience.circuitBreaker('partner')).toThrow('Unknown circuit breaker "partner". Known: carrier.');
    expect(() => resilience.bulkhead('x')).toThrow('Unknown bulkhead "x". Known: carrier, partner.');
    expect(() => resilience.outboundRateLimit('x')).toThrow('Unknown outbound rate limit "x". Known: carrier.');
  });

  it('finds what belongs to a handler, under its name', async () => {
    @Controller('orders')
    class OrdersController {
      @Get('export')
      @Timeout('1s')
      @CircuitBreaker()
      @Bulkhead({ maxConcurrent: 2, maxQueue: 3, queueTimeout: '10s' })
      export(): void {}
    }
    const { app } = await boot({ controllers: [OrdersController] });
    const resilience = app?.get(ResilienceService) as ResilienceService;

    expect(resilience.bulkhead('OrdersController.export')).toMatchObject({ active: 0, queued: 0, maxConcurrent: 2 });
    expect(resilience.circuitBreaker('OrdersController.export').state).toBe('closed');
  });

  it('finds a name that is configured nowhere, with the default settings', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @Bulkhead('pool')
      list(): void {}

      @Get('more')
      @Bulkhead('pool')
      more(): void {}
    }
    const { app } = await boot({ controllers: [Shop], options: { defaults: { bulkhead: { maxConcurrent: 4 } } } });

    expect(app?.get(ResilienceService).bulkhead('pool').maxConcurrent).toBe(4);
  });
});

describe('budgets()', () => {
  it('has the worst case of each entrypoint that has settings', async () => {
    @Controller('shop')
    class Shop {
      @Get('quotes')
      @Resilience('carrier')
      @Timeout('1.5s')
      quotes(): void {}

      @Get('limited')
      @Resilience('limited')
      @Retry(2)
      limited(): void {}

      @Get('budgeted')
      @Resilience('carrier')
      @Budget('3s')
      budgeted(): void {}

      @Get('plain')
      plain(): void {}
    }
    const { app } = await boot({
      controllers: [Shop],
      options: {
        defaults: { timeout: '5s', retry: { attempts: 3, backoff: { delay: '200ms', maxDelay: '2s' } } },
        presets: {
          carrier: { timeout: '2s', retry: { attempts: 2 } },
          limited: { timeout: '1s', outboundRateLimit: { limit: 1, interval: '1s', maxWait: '0.5s' } },
        },
      },
    });

    expect(app?.get(ResilienceService).budgets()).toEqual([
      {
        source: 'Shop.quotes',
        worstCaseMs: 3_200,
        retryAfterMs: 1_800,
        arithmetic: '2 x 1500 ms + 200 ms of backoff = 3200 ms',
      },
      {
        source: 'Shop.limited',
        worstCaseMs: 3_200,
        retryAfterMs: 1_800,
        arithmetic: '2 x 1000 ms + 2 x 500 ms of rate limit + 200 ms of backoff = 3200 ms',
      },
      {
        source: 'Shop.budgeted',
        worstCaseMs: 3_000,
        retryAfterMs: 0,
        arithmetic: '2 x 2000 ms + 200 ms of backoff = 4200 ms, at most the budget of 3000 ms',
      },
    ]);
  });
});
