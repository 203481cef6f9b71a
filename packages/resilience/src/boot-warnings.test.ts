import {
  All,
  Controller,
  Delete,
  Get,
  Injectable,
  Next,
  Patch,
  Post,
  Put,
  Res,
  Scope,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { EventPattern, GrpcStreamCall, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from 'vitest';
import { boot, closeAll, type Application } from '../test/boot.js';
import {
  adaptive,
  Budget,
  Bulkhead,
  CircuitBreaker,
  Fallback,
  Resilience,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
} from './index.js';

afterEach(closeAll);

/** Boots an application that comes up, and returns what the module warned of. */
async function warningsOf(application: Application): Promise<readonly string[]> {
  const { error, listening, warnings } = await boot(application);
  expect(error).toBeUndefined();
  expect(listening).toBe(true);

  return warnings;
}

// What @nestjs/graphql and @nestjs/schedule write.
const Resolver = () => SetMetadata('__entryProvider__', true);
const Operation = (type: string) => SetMetadata('graphql:resolver_type', type);
const ResolveField = () => SetMetadata('graphql:resolve_property', true);
const ResolveReference = () => SetMetadata('graphql:resolve_reference', true);
const ScheduledTimeout = (timeout: number) => SetMetadata('SCHEDULE_TIMEOUT_OPTIONS', { timeout });

describe('decorators on something that is no entrypoint', () => {
  it('are warned of in the words of the documentation', async () => {
    @Injectable()
    class RepricingService {
      @Retry()
      repricePendingOrders(): void {}
    }

    expect(await warningsOf({ providers: [RepricingService] })).toEqual([
      'Resilience decorators on RepricingService.repricePendingOrders() have no effect: RepricingService is not a ' +
        'controller, resolver or gateway. They apply to entrypoints only. Inside services, use a policy object ' +
        '(ResilienceService.preset() or create(), or new RetryPolicy() etc.).',
    ]);
  });

  it('are listed in one warning per class', async () => {
    @Injectable()
    @Resilience('carrier')
    class RepricingService {
      @Retry()
      one(): void {}

      @Bulkhead()
      two(): void {}

      three(): void {}
    }

    const [warning, ...others] = await warningsOf({ providers: [RepricingService] });
    expect(others).toEqual([]);
    expect(warning).toMatch(
      /^Resilience decorators on RepricingService, RepricingService\.one\(\), RepricingService\.two\(\) have/,
    );
  });

  it('are found when the class alone is decorated', async () => {
    @Injectable()
    @Timeout('1s')
    class RepricingService {}

    const [warning] = await warningsOf({ providers: [RepricingService] });
    expect(warning).toMatch(/^Resilience decorators on RepricingService have no effect: RepricingService is not/);
  });

  it('are found in inherited methods', async () => {
    class Base {
      @Retry()
      run(): void {}
    }

    @Injectable()
    class Job extends Base {}

    expect(await warningsOf({ providers: [Job] })).toEqual([expect.stringContaining('on Job.run() have no effect')]);
  });

  it('are found in what a factory makes, and in a value', async () => {
    class Made {
      @Retry()
      run(): void {}
    }
    class Value {
      @Retry()
      run(): void {}
    }
    const providers = [
      { provide: 'MADE', useFactory: () => new Made() },
      { provide: 'VALUE', useValue: new Value() },
      { provide: 'NOTHING', useFactory: () => null },
      { provide: 'NUMBER', useValue: 5 },
      { provide: 'BARE', useValue: Object.create(null) as object },
    ];

    expect(await warningsOf({ providers })).toEqual([
      expect.stringContaining('on Made.run() have no effect'),
      expect.stringContaining('on Value.run() have no effect'),
    ]);
  });

  it('are found once in a class that is provided twice', async () => {
    @Injectable()
    class Job {
      @Retry()
      run(): void {}
    }

    expect(await warningsOf({ providers: [Job, { provide: 'ALIAS', useExisting: Job }] })).toHaveLength(1);
  });

  it('are not even checked', async () => {
    @Injectable()
    class Job {
      @Timeout('soon' as never)
      @Resilience('nobody')
      run(): void {}
    }

    expect(await warningsOf({ providers: [Job] })).toHaveLength(1);
  });

  it('are warned of on a method of a controller that is no handler', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      list(): void {}

      @Retry()
      flat(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      'Resilience decorators on Shop.flat() have no effect: flat() is not a handler of Shop. Put them on a handler, or ' +
        'use a policy object inside the method (ResilienceService.preset() or create()).',
    ]);
  });
});

describe('@Retry() where nothing may be repeated', () => {
  it('is warned of on a POST in the words of the documentation', async () => {
    @Controller('shipping')
    class ShippingController {
      @Post('shipments')
      @Retry()
      createShipment(): void {}
    }

    expect(await warningsOf({ controllers: [ShippingController] })).toEqual([
      '@Retry() on ShippingController.createShipment() is inactive: it only re-runs safe operations (GET, HEAD, ' +
        'OPTIONS, GraphQL queries). If the handler is safe to repeat, use @Retry({ idempotent: true }).',
    ]);
  });

  it.each([
    ['PUT', Put],
    ['PATCH', Patch],
    ['DELETE', Delete],
  ])('is warned of on a %s', async (_method, Route) => {
    @Controller('shop')
    class Shop {
      @Route()
      @Retry(4)
      change(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      expect.stringContaining('@Retry() on Shop.change() is inactive'),
    ]);
  });

  it('is warned of on a mutation, and not on a query', async () => {
    @Injectable()
    @Resolver()
    class ShopResolver {
      @Operation('Mutation')
      @Retry()
      change(): void {}

      @Operation('Query')
      @Retry()
      list(): void {}
    }

    expect(await warningsOf({ providers: [ShopResolver] })).toEqual([
      expect.stringContaining('@Retry() on ShopResolver.change() is inactive'),
    ]);
  });

  it('is silent where it is declared idempotent, off, inherited or may meet a GET', async () => {
    @Controller('shop')
    @Resilience('carrier')
    class Shop {
      @Post('a')
      @Retry({ idempotent: true })
      idempotent(): void {}

      @Post('b')
      @Retry(false)
      off(): void {}

      @Post('c')
      @Retry(1)
      once(): void {}

      @Post('d')
      inherited(): void {}

      @All('e')
      @Retry()
      any(): void {}

      @Get('f')
      @Retry()
      safe(): void {}
    }

    @Controller('other')
    @Retry({ idempotent: true })
    class Other {
      @Post()
      @Retry(4)
      ofClass(): void {}
    }

    const options = { presets: { carrier: { retry: 2, timeout: '1s' } } } as const;
    expect(await warningsOf({ controllers: [Shop, Other], options })).toEqual([]);
  });

  it('is warned of where what it refines makes a single attempt', async () => {
    @Controller('shop')
    @Retry(false)
    class Shop {
      @Get('a')
      @Retry({ retryAfter: false })
      refined(): void {}

      @Get('b')
      @Retry({ attempts: 1 })
      once(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      '@Retry() on Shop.refined() is inactive: its class, its preset or the defaults allow a single attempt. ' +
        'Set the attempts on the handler, such as @Retry({ attempts: 3 }).',
    ]);
  });

  it('is silent on message and event handlers, where it applies', async () => {
    @Controller()
    class Shop {
      @MessagePattern('list')
      @Retry()
      list(): void {}

      @EventPattern('changed')
      @Retry()
      changed(_data: unknown): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([]);
  });

  it('is warned of where a gRPC client sends a stream', async () => {
    @Controller()
    class Shop {
      @GrpcStreamMethod('Shop')
      @Retry()
      upload(_parts: unknown): void {}

      @Retry({ idempotent: true })
      @GrpcStreamCall('Shop')
      chat(_parts: unknown): void {}
    }

    const text = (name: string) =>
      `@Retry() on Shop.${name}() never applies: the client of this gRPC method sends a stream, which can be read ` +
      'only once. Retry inside the handler, with a policy object, or let the client repeat the call.';
    expect(await warningsOf({ controllers: [Shop] })).toEqual([text('upload'), text('chat')]);
  });
});

describe('idempotent in a preset', () => {
  it('is warned of, and does not count', async () => {
    const options = { presets: { carrier: { retry: { attempts: 2, idempotent: true } } } } as object;

    expect(await warningsOf({ options })).toEqual([
      'presets.carrier.retry.idempotent is ignored: it cannot declare every handler that uses it safe to repeat. ' +
        'Say it on the handler: @Retry({ idempotent: true }).',
    ]);
  });

  it('is warned of in the defaults', async () => {
    const options = { defaults: { retry: { idempotent: true } } } as object;

    expect(await warningsOf({ options })).toEqual([expect.stringContaining('defaults.retry.idempotent is ignored')]);
  });
});

describe('a timeout that is undefined in a preset', () => {
  it('is warned of, since a setting may be missing', async () => {
    const carrier = { timeout: undefined, retry: 2 };
    const options = { presets: { carrier, partner: { timeout: '1s' }, other: { retry: 2 } } } as const;

    expect(await warningsOf({ options })).toEqual([
      'presets.carrier.timeout is given as undefined, so the stage is off: an attempt may take for ever. Give it a ' +
        'duration (does it come from an environment variable that is not set?), or leave the key out if that is meant.',
    ]);
  });

  it('is warned of for a budget too', async () => {
    const options = { presets: { carrier: { budget: undefined, timeout: '1s' } } } as const;

    expect(await warningsOf({ options })).toEqual([
      'presets.carrier.budget is given as undefined, so the stage is off: nothing limits all attempts together. Give it ' +
        'a duration (does it come from an environment variable that is not set?), or leave the key out if that is meant.',
    ]);
  });

  it('takes nothing from the defaults, which turn no stage on', async () => {
    const options = { defaults: { timeout: '5s' }, presets: { carrier: { timeout: undefined } } } as const;

    expect(await warningsOf({ options })).toEqual([expect.stringContaining('presets.carrier.timeout is given as')]);
  });
});

describe('@Signal()', () => {
  it('is warned of where nothing makes attempts', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      list(@Signal() _signal: AbortSignal): void {}

      @Get('limited')
      @Timeout('1s')
      limited(@Signal() _signal: AbortSignal): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      '@Signal() on Shop.list() is always undefined: no resilience decorator applies to it, so it has no attempts. ' +
        'Add one, such as @Timeout(), or remove the parameter.',
    ]);
  });
});

describe('GraphQL', () => {
  it('warns of what cannot apply to a subscription, and says nothing of what stands on its class', async () => {
    @Injectable()
    @Resolver()
    @Timeout('1s')
    @Bulkhead()
    class ShopResolver {
      @Operation('Subscription')
      @Timeout('1s')
      @CircuitBreaker()
      @Retry({ idempotent: true })
      opened(): void {}

      @Operation('Subscription')
      @Bulkhead({ maxConcurrent: 10 })
      counted(): void {}

      @Operation('Subscription')
      @Timeout('1s')
      async *generated(): AsyncGenerator {}

      @Operation('Subscription')
      @Resilience('partner')
      ofPreset(): void {}
    }

    const presets = { partner: { bulkhead: { maxConcurrent: 10 } } };
    const limits = (name: string) =>
      `The bulkhead of ShopResolver.${name}() does not limit how many streams are open: it is a GraphQL subscription, ` +
      'whose slot is given back with the first event. Count the streams that are open in what feeds them.';
    expect(await warningsOf({ providers: [ShopResolver], options: { presets } })).toEqual([
      limits('counted'),
      limits('ofPreset'),
    ]);
  });

  it('warns of a retry on a subscription as on a mutation', async () => {
    @Injectable()
    @Resolver()
    class ShopResolver {
      @Operation('Subscription')
      @Retry()
      changed(): void {}
    }

    expect(await warningsOf({ providers: [ShopResolver] })).toEqual([
      '@Retry() on ShopResolver.changed() is inactive: it only re-runs safe operations (GET, HEAD, OPTIONS, GraphQL ' +
        'queries). If the handler is safe to repeat, use @Retry({ idempotent: true }).',
    ]);
  });

  it('takes fields and references for handlers', async () => {
    @Injectable()
    @Resolver()
    class ShopResolver {
      @ResolveField()
      @Timeout('1s')
      price(): void {}

      @ResolveReference()
      @Timeout('1s')
      byId(): void {}
    }

    expect(await warningsOf({ providers: [ShopResolver] })).toEqual([]);
  });
});

describe('handlers that write the response themselves', () => {
  it('lose their fallback, and are warned of it and of a timeout', async () => {
    @Controller('shop')
    class Shop {
      @Get('a')
      @Fallback(() => [])
      @Timeout('1s')
      written(@Res() _response: unknown): void {}

      @Get('b')
      @Fallback(() => [])
      passedOn(@Next() _next: unknown): void {}

      @Get('c')
      @Fallback(() => [])
      @Timeout('1s')
      passthrough(@Res({ passthrough: true }) _response: unknown): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      'The fallback of Shop.written() is left out: the handler writes the response itself (@Res() or @Next()), so what ' +
        'a fallback returns would go nowhere. Use @Res({ passthrough: true }), or answer inside the handler.',
      'The timeout of Shop.written() answers while the handler may still write the response itself (@Res() or @Next()). ' +
        'Use @Res({ passthrough: true }), or stop writing once the signal of @Signal() has aborted.',
      expect.stringMatching(/^The fallback of Shop\.passedOn\(\) is left out/),
    ]);
  });

  it('lose it on a gRPC call too, where a timeout does no harm', async () => {
    @Controller()
    class Shop {
      @GrpcStreamCall('Shop', 'Chat')
      @Fallback(() => [])
      @Timeout('1s')
      chat(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      'The fallback of Shop.chat() is left out: the handler writes to the gRPC call itself (@GrpcStreamCall()), so what ' +
        'a fallback returns would go nowhere. Use @GrpcStreamMethod(), or answer inside the handler.',
    ]);
  });

  it('are warned of a budget', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @Budget('1s')
      written(@Res() _response: unknown): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      expect.stringMatching(/^The budget of Shop\.written\(\) answers while the handler may still write/),
    ]);
  });

  it('are warned of a fallback that a preset or their class brings', async () => {
    @Controller('shop')
    @Resilience('carrier')
    class Shop {
      @Get()
      written(@Res() _response: unknown): void {}
    }

    const options = { presets: { carrier: { fallback: () => [] } } };
    expect(await warningsOf({ controllers: [Shop], options })).toEqual([
      expect.stringContaining('The fallback of Shop.written() is left out'),
    ]);
  });
});

describe('the @Timeout() of @nestjs/schedule', () => {
  it('is warned of on a handler', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @ScheduledTimeout(5_000)
      list(): void {}

      @ScheduledTimeout(5_000)
      warmUp(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      '@Timeout() on Shop.list() comes from @nestjs/schedule: it calls the method once, after that time. To limit the ' +
        'time of a request, import Timeout from @nestjs/resilience.',
    ]);
  });
});

describe('a name that nobody configures', () => {
  function shop(...decorators: readonly MethodDecorator[]): Type {
    @Controller('shop')
    class Shop {
      @Get('one')
      one(): void {}

      @Get('two')
      two(): void {}
    }
    const names = ['one', 'two'];
    decorators.forEach((decorator, index) => {
      const name = names[index] as string;
      decorator(Shop.prototype, name, Object.getOwnPropertyDescriptor(Shop.prototype, name) as PropertyDescriptor);
    });
    Timeout('1s')(Shop);

    return Shop;
  }

  const options = { presets: { carrier: { timeout: '1s', circuitBreaker: {}, bulkhead: {} } } } as const;

  it('is warned of when it is used once', async () => {
    expect(await warningsOf({ controllers: [shop(CircuitBreaker('redis'))], options })).toEqual([
      'Circuit breaker "redis", used by Shop.one, is configured nowhere. It gets the default settings. ' +
        'Configured: carrier.',
    ]);
    expect(await warningsOf({ controllers: [shop(Bulkhead('redis'))], options })).toEqual([
      'Bulkhead "redis", used by Shop.one, is configured nowhere. It gets the default settings. Configured: carrier.',
    ]);
  });

  it('is legal when it is used twice, however it is spelt', async () => {
    const controllers = [shop(CircuitBreaker('carier'), CircuitBreaker({ name: 'carier' }))];

    expect(await warningsOf({ controllers, options })).toEqual([]);
  });

  it('counts a decorator on a class as one use, whatever the number of handlers', async () => {
    const Shop = shop();
    CircuitBreaker('redis')(Shop);

    expect(await warningsOf({ controllers: [Shop], options })).toEqual([expect.stringContaining('breaker "redis"')]);
  });

  it('counts a policy object of a service as a use', async () => {
    @Injectable()
    class Repricing {
      constructor(resilience: ResilienceService) {
        resilience.create({ timeout: '1s', circuitBreaker: 'redis' });
      }
    }

    expect(await warningsOf({ providers: [Repricing], options })).toHaveLength(1);
    expect(await warningsOf({ controllers: [shop(CircuitBreaker('redis'))], providers: [Repricing], options })).toEqual(
      [],
    );
  });

  it('may differ by a digit, or be short', async () => {
    const presets = {
      'partner-1': { timeout: '1s', circuitBreaker: {} },
      redis: { timeout: '1s', circuitBreaker: {} },
    } as const;
    const controllers = [shop(CircuitBreaker('partner-2'), CircuitBreaker('redi'))];

    expect(await warningsOf({ controllers, options: { presets } })).toEqual([
      expect.stringContaining('"partner-2"'),
      expect.stringContaining('"redi"'),
    ]);
  });
});

describe('a breaker without a time limit', () => {
  it('is warned of at an entrypoint', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @CircuitBreaker()
      list(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([
      'The circuit breaker of Shop.list() has no time limit inside: a call that hangs is never counted. ' +
        "Add a timeout, such as @Timeout('2s') or { timeout: '2s' }.",
    ]);
  });

  it('is not warned of where a budget ends calls that hang', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @CircuitBreaker()
      @Budget('1s')
      list(): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([]);
  });

  it('is warned of in policy objects that are made before the application is up', async () => {
    @Injectable()
    class Repricing {
      constructor(resilience: ResilienceService) {
        resilience.preset('carrier');
        resilience.preset('carrier');
        resilience.create({ circuitBreaker: {} }, 'partner');
        resilience.create({ circuitBreaker: {}, timeout: '1s' }, 'limited');
        resilience.create({ circuitBreaker: {}, budget: '1s' }, 'budgeted');
      }
    }

    const options = { presets: { carrier: { circuitBreaker: {} }, unused: { circuitBreaker: {} } } };
    expect(await warningsOf({ providers: [Repricing], options })).toEqual([
      expect.stringContaining('The circuit breaker of presets.carrier has no time limit'),
      expect.stringContaining('The circuit breaker of create(…, "partner") has no time limit'),
    ]);
  });
});

describe('clientTimeout', () => {
  @Controller('shop')
  @Resilience('carrier')
  class Shop {
    @Get('quotes')
    @Timeout('1.5s')
    quotes(): void {}

    @Post('shipments')
    book(): void {}
  }

  @Controller('plain')
  class Plain {
    @Get()
    list(): void {}
  }

  const presets = {
    carrier: { timeout: '2s', retry: { attempts: 2, backoff: { delay: '200ms', maxDelay: '2s' } } },
  } as const;
  const controllers = [Shop, Plain];

  it('is compared with the worst case of each entrypoint, to the millisecond', async () => {
    expect(await warningsOf({ controllers, options: { presets, clientTimeout: 3_200 } })).toEqual([]);
    expect(await warningsOf({ controllers, options: { presets, clientTimeout: 3_199 } })).toEqual([
      'Shop.quotes() does not fit into clientTimeout (3199 ms): 2 x 1500 ms + 200 ms of backoff = 3200 ms. ' +
        'Give it a budget that fits, lower its timeout or attempts, or raise clientTimeout if clients really wait that long.',
    ]);
  });

  it('knows that a POST is not repeated', async () => {
    const warnings = await warningsOf({ controllers, options: { presets, clientTimeout: 1_999 } });

    expect(warnings).toEqual([
      expect.stringContaining('Shop.quotes()'),
      expect.stringContaining('1 x 2000 ms = 2000 ms'),
    ]);
  });

  it('is met by a budget that fits, whatever the attempts would take', async () => {
    @Controller('shop')
    @Resilience('carrier')
    class Budgeted {
      @Get()
      @Budget('3s')
      quotes(): void {}
    }

    const app = { controllers: [Budgeted] };
    expect(await warningsOf({ ...app, options: { presets, clientTimeout: 3_000 } })).toEqual([]);
    expect(await warningsOf({ ...app, options: { presets, clientTimeout: 2_999 } })).toEqual([
      'Budgeted.quotes() does not fit into clientTimeout (2999 ms): 2 x 2000 ms + 200 ms of backoff = 4200 ms, at most ' +
        'the budget of 3000 ms. Give it a budget that fits, lower its timeout or attempts, or raise clientTimeout if ' +
        'clients really wait that long.',
    ]);
  });

  it('is compared with the most that a learned timeout may become', async () => {
    @Controller('shop')
    class Learning {
      @Get()
      @Timeout(adaptive({ initial: '1s', max: '4s' }))
      list(): void {}
    }

    const app = { controllers: [Learning] };
    expect(await warningsOf({ ...app, options: { clientTimeout: 4_000 } })).toEqual([]);
    expect(await warningsOf({ ...app, options: { clientTimeout: 3_999 } })).toEqual([
      expect.stringContaining('Learning.list() does not fit into clientTimeout (3999 ms): 1 x 4000 ms = 4000 ms.'),
    ]);
  });

  it('fits nothing that has no end', async () => {
    @Controller('shop')
    class Endless {
      @Get()
      @Bulkhead()
      list(): void {}
    }

    expect(await warningsOf({ controllers: [Endless], options: { clientTimeout: '1d' } })).toEqual([
      expect.stringContaining('no timeout: nothing ends an attempt = Infinity'),
    ]);
  });
});

describe('an application that is in order', () => {
  it('hears nothing', async () => {
    @Controller({ path: 'shop', scope: Scope.REQUEST })
    class Shop {
      @Get()
      @Timeout('1s')
      @Retry(3)
      @CircuitBreaker({ minimumCalls: 5 })
      @Bulkhead({ maxConcurrent: 2 })
      @Fallback(() => [])
      list(@Signal() _signal: AbortSignal): void {}
    }

    expect(await warningsOf({ controllers: [Shop] })).toEqual([]);
  });
});
