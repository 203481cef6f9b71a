import {
  Controller,
  Get,
  Injectable,
  Post,
  Res,
  SetMetadata,
  Sse,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { EventPattern, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { BulkheadFullError, type AttemptContext, type ResiliencePolicy } from 'holdfast';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { boot, closeAll } from '../../test/boot.js';
import { Budget, Bulkhead, CircuitBreaker, Fallback, Resilience, ResilienceService, Retry, Timeout } from '../index.js';
import type { ResilienceModuleOptions } from '../index.js';
import { describeHandler, isEntryClass } from 'holdfast/nest';
import { Planner, type Plan } from './plan.js';

afterEach(closeAll);

interface Planned {
  readonly planner: Planner;
  readonly resilience: ResilienceService;
  planOf(name: string): Plan | null;
}

/** Boots an application with one class, and returns the plans of its methods. */
async function planned(cls: Type, options: ResilienceModuleOptions = {}): Promise<Planned> {
  const isProvider = Reflect.hasMetadata('__injectable__', cls) || Reflect.hasMetadata('websockets:is_gateway', cls);
  const { app, error } = await boot({ ...(isProvider ? { providers: [cls] } : { controllers: [cls] }), options });
  if (app === undefined || error !== undefined) throw error;

  const planner = app.get(Planner, { strict: false });
  return {
    planner,
    resilience: app.get(ResilienceService),
    planOf: (name) => planner.planFor(cls, (cls.prototype as Record<string, Function>)[name] as Function),
  };
}

/** The names of a pipeline's stages, outermost first. */
function stagesOf(policy: ResiliencePolicy | undefined): string[] {
  return (policy?.pipeline.stages ?? []).map((stage) => stage.constructor.name);
}

const ALL = [
  'FallbackPolicy',
  'BudgetStage',
  'RetryPolicy',
  'CircuitBreakerPolicy',
  'OutboundRateLimitPolicy',
  'TimeoutPolicy',
  'BulkheadPolicy',
];

const presets = {
  carrier: {
    bulkhead: { maxConcurrent: 1 },
    timeout: '2s',
    outboundRateLimit: { limit: 5, interval: '1s' },
    circuitBreaker: {},
    retry: { attempts: 2, retryOnResult: () => true, backoff: () => 0 },
    fallback: () => 'flat',
    budget: '3s',
  },
} as const;

describe('a plan', () => {
  it('has the stages in the canonical order, whatever order they are written in', async () => {
    @Controller('shop')
    class Shop {
      @Get('preset')
      @Resilience('carrier')
      preset(): void {}

      @Bulkhead()
      @Timeout('1s')
      @Budget('3s')
      @Get('written')
      @CircuitBreaker()
      @Retry()
      @Fallback(() => 1)
      written(): void {}
    }
    const { planOf } = await planned(Shop, { presets });

    expect(stagesOf(planOf('preset')?.withRetry)).toEqual(ALL);
    expect(stagesOf(planOf('written')?.withRetry)).toEqual(ALL.filter((name) => name !== 'OutboundRateLimitPolicy'));
  });

  it('has two pipelines that share their stages', async () => {
    @Controller('shop')
    @Resilience('carrier')
    class Shop {
      @Get()
      list(): void {}
    }
    const { planOf } = await planned(Shop, { presets });
    const plan = planOf('list') as Plan;
    const withRetry = plan.withRetry.pipeline.stages;

    expect(plan.withoutRetry.pipeline.stages).toEqual(withRetry.filter((_stage, index) => index !== 2));
    plan.withoutRetry.pipeline.stages.forEach((stage) => expect(withRetry).toContain(stage));
  });

  it('has one pipeline where nothing is repeated', async () => {
    @Controller('shop')
    class Shop {
      @Get('a')
      @Timeout('1s')
      none(): void {}

      @Get('b')
      @Retry(false)
      off(): void {}

      @Get('c')
      @Retry(1)
      once(): void {}
    }
    const { planOf } = await planned(Shop);

    for (const name of ['none', 'off', 'once']) {
      expect(planOf(name)?.withRetry).toBe(planOf(name)?.withoutRetry);
      expect(planOf(name)?.retry).toBe('never');
    }
    expect(stagesOf(planOf('off')?.withRetry)).toEqual([]);
  });

  it('names what is its own after the handler, and what is shared after its name', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @Resilience('carrier')
      list(): void {}
    }
    const { planOf } = await planned(Shop, { presets });
    const stages = (planOf('list') as Plan).withRetry.pipeline.stages as unknown as { readonly name: string }[];

    expect(planOf('list')?.source).toBe('Shop.list');
    expect(stages.map(({ name }) => name)).toEqual([
      'Shop.list',
      'Shop.list',
      'Shop.list',
      'carrier',
      'carrier',
      'Shop.list',
      'carrier',
    ]);
  });

  it('does not retry results, which is for services', async () => {
    @Controller('shop')
    class Shop {
      @Get()
      @Resilience('carrier')
      list(): void {}
    }
    const { planOf } = await planned(Shop, { presets });
    const work = vi.fn(() => 'result');

    expect(await planOf('list')?.withRetry.execute(work)).toBe('result');
    expect(work).toHaveBeenCalledOnce();
  });

  it('is null where nothing is set, and the same object each time', async () => {
    @Controller('shop')
    class Shop {
      @Get('a')
      plain(): void {}

      @Get('b')
      @Timeout('1s')
      limited(): void {}
    }
    const { planOf } = await planned(Shop, { defaults: { timeout: '1s', retry: 3, circuitBreaker: {}, bulkhead: {} } });

    expect(planOf('plain')).toBeNull();
    expect(planOf('limited')).toBe(planOf('limited'));
  });

  it('knows which handlers send events', async () => {
    @Controller('shop')
    @Timeout('1s')
    class Shop {
      @Sse('changes')
      changes(): void {}

      @Get()
      list(): void {}
    }
    const { planOf } = await planned(Shop);

    expect(planOf('changes')?.streamsEvents).toBe(true);
    expect(planOf('list')?.streamsEvents).toBe(false);
  });
});

describe('which calls may be repeated', () => {
  it('is decided by what stands on the handler', async () => {
    @Controller('shop')
    @Resilience('carrier')
    class Shop {
      @Get('a')
      inherited(): void {}

      @Get('b')
      @Retry()
      declared(): void {}

      @Post('c')
      @Retry({ idempotent: true })
      idempotent(): void {}
    }
    const { planOf } = await planned(Shop, { presets });

    expect([planOf('inherited')?.retry, planOf('declared')?.retry, planOf('idempotent')?.retry]).toEqual([
      'safe',
      'declared',
      'always',
    ]);
  });

  it('is everything where the class is declared idempotent', async () => {
    @Controller()
    @Retry({ idempotent: true })
    class Shop {
      @MessagePattern('list')
      list(): void {}

      @Post()
      @Retry(4)
      post(): void {}
    }
    const { planOf } = await planned(Shop);

    expect(planOf('list')?.retry).toBe('always');
    expect(planOf('post')?.retry).toBe('always');
  });

  it('is never said by a preset', async () => {
    @Controller()
    @Resilience('carrier')
    class Shop {
      @Post()
      post(): void {}
    }
    const { planOf } = await planned(Shop, {
      presets: { carrier: { retry: { attempts: 2, idempotent: true } as object } },
    });

    expect(planOf('post')?.retry).toBe('safe');
  });

  it('is nothing where a gRPC client sends a stream, found by its name though the method was replaced', async () => {
    @Controller()
    class Shop {
      @Retry({ idempotent: true })
      @Timeout('1s')
      @GrpcStreamMethod('Shop')
      upload(_parts: unknown): void {}
    }
    const { planOf } = await planned(Shop);

    expect(planOf('upload')).toMatchObject({ source: 'Shop.upload', retry: 'never' });
  });

  it("takes a handler's attempts from the preset of its class on messages too", async () => {
    @Controller()
    @Resilience('carrier')
    class Shop {
      @EventPattern('changed')
      @Retry()
      changed(_data: unknown): void {}
    }
    const { planOf } = await planned(Shop, { presets: { carrier: { retry: { attempts: 4, backoff: () => 0 } } } });
    const work = vi.fn(() => Promise.reject(new Error('down')));
    await planOf('changed')
      ?.withRetry.execute(work)
      .catch(() => {});

    expect(work).toHaveBeenCalledTimes(4);
  });
});

describe('entrypoints', () => {
  it('are methods of gateways', () => {
    @WebSocketGateway()
    class Shop {
      @SubscribeMessage('list')
      @Timeout('1s')
      list(): void {}
    }
    const { kinds } = describeHandler(Shop, 'list', Shop.prototype.list);

    expect(isEntryClass(Shop)).toBe(true);
    expect(kinds).toMatchObject({ websocket: true, rpc: false, http: undefined });
  });

  it('inherit from abstract controllers, each with a breaker of its own', async () => {
    @Timeout('1s')
    abstract class Base {
      @Get()
      @CircuitBreaker()
      list(): void {}
    }

    @Controller('one')
    class One extends Base {}

    const { planOf, resilience } = await planned(One);

    expect(planOf('list')?.source).toBe('One.list');
    expect(stagesOf(planOf('list')?.withRetry)).toEqual(['CircuitBreakerPolicy', 'TimeoutPolicy']);
    expect(resilience.circuitBreakers().map(({ name }) => name)).toEqual(['One.list']);
  });

  it('of one abstract controller in two classes have a plan each', async () => {
    abstract class Base {
      @Get()
      @Bulkhead({ maxConcurrent: 1 })
      list(): void {}
    }

    @Controller('one')
    class One extends Base {}

    @Controller('two')
    class Two extends Base {}

    const { app } = await boot({ controllers: [One, Two] });
    const planner = app?.get(Planner, { strict: false });

    expect(planner?.planFor(One, Base.prototype.list)?.source).toBe('One.list');
    expect(planner?.planFor(Two, Base.prototype.list)?.source).toBe('Two.list');
    expect(app?.get(ResilienceService).bulkheads()).toHaveLength(2);
  });

  it('that share an unnamed bulkhead of their class have slots of their own', async () => {
    @Controller('shop')
    @Bulkhead({ maxConcurrent: 1 })
    class Shop {
      @Get('a')
      one(): void {}

      @Get('b')
      two(): void {}
    }
    const { planOf } = await planned(Shop);
    const hang = () => new Promise<never>(() => {});
    void planOf('one')?.withRetry.execute(hang);

    await expect(planOf('one')?.withRetry.execute(() => 1)).rejects.toBeInstanceOf(BulkheadFullError);
    await expect(planOf('two')?.withRetry.execute(() => 1)).resolves.toBe(1);
  });

  it('of GraphQL take settings from their class for queries and mutations only', async () => {
    const Operation = (type: string) => SetMetadata('graphql:resolver_type', type);

    @Injectable()
    @SetMetadata('__entryProvider__', true)
    @Timeout('1s')
    class Resolver {
      @Operation('Query')
      list(): void {}

      @Operation('Mutation')
      change(): void {}

      @Operation('Subscription')
      changed(): void {}

      @Operation('Subscription')
      @Fallback(() => [])
      removed(): void {}

      @SetMetadata('graphql:resolve_property', true)
      price(): void {}

      @SetMetadata('graphql:resolve_property', true)
      @Retry()
      reviews(): void {}

      @SetMetadata('graphql:resolve_reference', true)
      byId(): void {}
    }
    const { planOf } = await planned(Resolver);

    expect(
      ['list', 'change', 'changed', 'removed', 'price', 'reviews', 'byId'].map((name) =>
        stagesOf(planOf(name)?.withRetry),
      ),
    ).toEqual([['TimeoutPolicy'], ['TimeoutPolicy'], [], ['FallbackPolicy'], [], ['RetryPolicy'], []]);
  });

  it('provided under another token have their fallback method called', async () => {
    @Injectable()
    @SetMetadata('__entryProvider__', true)
    class Resolver {
      private readonly answer = 'flat';

      @SetMetadata('graphql:resolver_type', 'Query')
      @Fallback('flat')
      list(): void {}

      flat(): string {
        return this.answer;
      }
    }
    const { app } = await boot({ providers: [{ provide: 'RESOLVER', useClass: Resolver }] });
    const plan = app?.get(Planner, { strict: false }).planFor(Resolver, Resolver.prototype.list);

    expect(await plan?.withRetry.execute(() => Promise.reject(new Error('down')))).toBe('flat');
  });
});

describe('a fallback', () => {
  const down = new Error('down');
  const context = { kind: 'context' } as unknown as ExecutionContext;

  /** Calls the handler of a plan's fallback as the interceptor does. */
  function answer(plan: Plan | null): unknown {
    const [stage] = plan?.withRetry.pipeline.stages ?? [];
    const { handler } = stage as unknown as { handler(error: unknown, attempt: unknown, context: unknown): unknown };

    return handler(down, { attempt: 1 }, context);
  }

  it('of a decorator is told the error and the context', async () => {
    @Controller('shop')
    class Shop {
      private readonly flatRate = 4.99;

      @Get('a')
      @Fallback((...given) => given)
      byFunction(): void {}

      @Get('b')
      @Fallback('flat')
      byName(): void {}

      flat(...given: unknown[]): unknown[] {
        return [this.flatRate, ...given];
      }
    }
    const { planOf } = await planned(Shop);

    expect(answer(planOf('byFunction'))).toEqual([down, context]);
    expect(answer(planOf('byName'))).toEqual([4.99, down, context]);
  });

  it('of a preset is told the attempt as well', async () => {
    @Controller('shop')
    @Resilience('carrier')
    class Shop {
      @Get()
      list(): void {}
    }
    const fallback = (error: unknown, attempt: AttemptContext, ...subject: unknown[]) => [error, attempt, ...subject];
    const { planOf } = await planned(Shop, { presets: { carrier: { fallback } } });

    expect(answer(planOf('list'))).toEqual([down, { attempt: 1 }, context]);
  });

  it('is left out where the handler writes the response itself', async () => {
    @Controller('shop')
    @Fallback(() => 1)
    class Shop {
      @Get('a')
      written(@Res() _response: unknown): void {}

      @Get('b')
      passthrough(@Res({ passthrough: true }) _response: unknown): void {}
    }
    const { planOf } = await planned(Shop);

    expect(stagesOf(planOf('written')?.withRetry)).toEqual([]);
    expect(stagesOf(planOf('passthrough')?.withRetry)).toEqual(['FallbackPolicy']);
  });
});

describe('a call that tells neither class nor handler', () => {
  it('has no plan', async () => {
    @Controller('shop')
    class Shop {}
    const { planner } = await planned(Shop);

    expect(planner.planFor(undefined as never, undefined as never)).toBeNull();
    expect(planner.planFor(Shop, undefined as never)).toBeNull();
  });
});

describe('a handler that bootstrap has not seen', () => {
  class Late {
    @Get()
    @Timeout('1s')
    @CircuitBreaker({ minimumCalls: 5 })
    list(): void {}

    @Get()
    @Resilience('nobody')
    wrong(): void {}

    @Get()
    @CircuitBreaker('redis')
    unknown(): void {}
  }

  @Controller('shop')
  class Shop {
    @Get()
    list(): void {}
  }

  it('is planned when it is first called', async () => {
    const { planner, resilience } = await planned(Shop);
    const plan = planner.planFor(Late, Late.prototype.list);

    expect(plan?.source).toBe('Late.list');
    expect(planner.planFor(Late, Late.prototype.list)).toBe(plan);
    expect(resilience.circuitBreaker('Late.list').options.minimumCalls).toBe(5);
    expect(resilience.budgets().map(({ source }) => source)).toEqual(['Late.list']);
  });

  it('is remembered once though it is wrapped anew for each call', async () => {
    @Controller('shop')
    @Timeout('1s')
    class Bound {
      @Get()
      list(): void {}
    }
    const { planner, resilience } = await planned(Bound);
    for (let n = 0; n < 100; n++) planner.planFor(Bound, Bound.prototype.list.bind(new Bound()));

    expect(resilience.budgets().map(({ source }) => source)).toEqual(['Bound.list', 'Bound.bound list']);
  });

  it('fails each of its requests where it is wrong', async () => {
    const { planner } = await planned(Shop);
    const plan = () => planner.planFor(Late, Late.prototype.wrong);

    expect(plan).toThrow('Resilience decorators on Late.wrong: Unknown preset "nobody". Known: (none).');
    expect(plan).toThrow('Resilience decorators on Late.wrong: Unknown preset "nobody". Known: (none).');
  });

  it('must use known names where names are strict', async () => {
    const { planner } = await planned(Shop, { strictNames: true });

    expect(() => planner.planFor(Late, Late.prototype.unknown)).toThrow(
      'Circuit breaker "redis", used by Late.unknown',
    );
  });
});
