import {
  Controller,
  Get,
  Injectable,
  Module,
  Next,
  Post,
  Res,
  Sse,
  type INestApplication,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import {
  Args,
  Field,
  GraphQLModule,
  Int,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import { EventPattern, GrpcStreamCall, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { NEVER } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { Idempotent, IdempotencyModule } from '../src/index.js';
import { CapturedLog } from './fixtures/captured-log.js';

const booted: INestApplication[] = [];

afterEach(async () => {
  await Promise.all(booted.splice(0).map((app) => app.close()));
});

/** The warnings of the module at boot. */
async function boot(metadata: ModuleMetadata): Promise<string[]> {
  const log = new CapturedLog();
  const module = await Test.createTestingModule({ imports: [IdempotencyModule.forRoot({})], ...metadata })
    .setLogger(log)
    .compile();
  const app = module.createNestApplication({ logger: log });
  app.useWebSocketAdapter(new WsAdapter(app));
  booted.push(app);
  await app.init();

  return log.own;
}

const withControllers = (...controllers: Type[]): Promise<string[]> => boot({ controllers });
const withProviders = (...providers: Type[]): Promise<string[]> => boot({ providers });

const WITHOUT_EFFECT = 'is @Idempotent() without effect:';

describe('At boot', () => {
  it('nothing is said of handlers that are covered', async () => {
    @Controller()
    @Idempotent({
      keyFrom: { http: { header: 'X-Key' }, rpc: { payload: 'id' } },
      scope: { http: () => 1, rpc: false },
    })
    class Orders {
      @Get() list() {}
      @Post() create() {}
      @Post('free') @Idempotent(false) free() {}
      @MessagePattern('create') message() {}
      @EventPattern('created') event(_data: unknown) {}
      notHandler() {}
    }

    expect(await withControllers(Orders)).toEqual([]);
  });

  it('streams are named, which cannot be replayed', async () => {
    @Controller()
    class Streams {
      @Sse('events') @Idempotent() events() {
        return NEVER;
      }
      @GrpcStreamMethod('Calls', 'Bidi') @Idempotent() messages() {
        return NEVER;
      }
      @GrpcStreamCall('Calls', 'ClientStream') @Idempotent() call() {}
    }

    expect(await withControllers(Streams)).toEqual([
      `Streams.events() ${WITHOUT_EFFECT} a stream of events cannot be replayed.`,
      `Streams.messages() ${WITHOUT_EFFECT} a stream of requests cannot be compared with another.`,
      `Streams.call() ${WITHOUT_EFFECT} the handler answers its call by itself.`,
    ]);
  });

  it('handlers are named that send their answer themselves, and not those that only may', async () => {
    @Controller()
    @Idempotent()
    class Answers {
      @Post('response') response(@Res() response: { end(): void }) {
        response.end();
      }
      @Post('next') next(@Next() next: () => void) {
        next();
      }
      @Post('both') both(@Res({ passthrough: true }) _response: unknown) {}
      @Get('read') read(@Res() response: { end(): void }) {
        response.end();
      }
    }

    const why = 'sends its answer itself; such answers are not kept, and a repeated call runs the handler again.';
    expect(await withControllers(Answers)).toEqual([`Answers.response() ${why}`, `Answers.next() ${why}`]);
  });

  it('handlers of WebSockets are named, which have no keys', async () => {
    @WebSocketGateway()
    class Messages {
      @SubscribeMessage('create') @Idempotent() create() {}
      @SubscribeMessage('plain') plain() {}
    }

    expect(await withProviders(Messages)).toEqual([
      `Messages.create() ${WITHOUT_EFFECT} keys do not exist for calls over ws. Use IdempotencyService.run().`,
    ]);
  });

  it('a class is named whose handlers are not covered, and one without handlers', async () => {
    @Controller('reports')
    @Idempotent()
    class Reports {
      @Get() list() {}
      @Post() @Idempotent(false) free() {}
    }
    @Injectable()
    @Idempotent()
    class Mailer {
      send() {}
    }

    expect(await boot({ controllers: [Reports], providers: [Mailer] })).toEqual([
      '@Idempotent() on Mailer is without effect: it has no handlers. Use IdempotencyService.run().',
      '@Idempotent() on Reports covers none of its handlers. On a class it covers HTTP methods other than GET, HEAD and ' +
        'OPTIONS, mutations of GraphQL, and message handlers.',
    ]);
  });

  it('methods are named that are no handlers', async () => {
    @Injectable()
    class Jobs {
      @Idempotent() nightly() {}
    }
    @Controller()
    class Mixed {
      @Post() create() {}
      @Idempotent() inner() {}
    }

    const rule = `${WITHOUT_EFFECT} it is no handler of requests, queries or messages. Use IdempotencyService.run().`;
    expect(await boot({ controllers: [Mixed], providers: [Jobs] })).toEqual(
      expect.arrayContaining([`Jobs.nightly() ${rule}`, `Mixed.inner() ${rule}`]),
    );
  });

  it('what stands there for a kind of call that a handler has not is named', async () => {
    @Controller()
    class Kinds {
      @Post() @Idempotent({ keyFrom: { rpc: { payload: 'id' } }, scope: { http: () => 1, graphql: false } }) create() {}
    }

    expect(await withControllers(Kinds)).toEqual([
      'Kinds.create() has @Idempotent({ keyFrom: { rpc } }), and is not called over rpc.',
      'Kinds.create() has @Idempotent({ scope: { graphql } }), and is not called over graphql.',
    ]);
  });

  it('a map of scopes without the kind of call of a handler is named', async () => {
    @Controller()
    @Idempotent({ scope: { http: () => 1 } })
    class Kinds {
      @Post() create() {}
      @MessagePattern('create') message() {}
    }

    expect(await withControllers(Kinds)).toEqual([
      'Kinds.message() has no scope for calls over rpc: all callers share their keys. Add it to the map, or false.',
    ]);
  });

  it.each([
    [
      'an argument over HTTP',
      { arg: 'id' },
      'post',
      '{ arg } does not fit a call over http, whose keys are found by header.',
    ],
    ['the payload over HTTP', { payload: 'id' }, 'post', '{ payload } does not fit a call over http'],
    [
      'an argument of a message',
      { arg: 'id' },
      'message',
      '{ arg } does not fit a call over rpc, whose keys are found by header or payload.',
    ],
    ['an argument in the place of messages', { rpc: { arg: 'id' } }, 'message', '{ arg } does not fit a call over rpc'],
  ])('a key that could never be found fails it: %s', async (_what, keyFrom, kind, message) => {
    @Controller()
    class Keys {
      @(kind === 'post' ? Post() : MessagePattern('keys')) @Idempotent({ keyFrom }) handle() {}
    }

    await expect(withControllers(Keys)).rejects.toThrow(`@Idempotent() on Keys.handle: keyFrom: ${message}`);
    await expect(withControllers(Keys)).rejects.toThrow(TypeError);
  });

  it('reads of a class whose writes have their key elsewhere are left alone', async () => {
    @Controller()
    @Idempotent({ keyFrom: { payload: 'id' } })
    class Keys {
      @Get() read() {}
      @MessagePattern('keys') message() {}
    }

    expect(await withControllers(Keys)).toEqual([]);
  });

  it('resolvers are named that run without interceptors, and subscriptions', async () => {
    @ObjectType()
    class Whole {
      @Field(() => Int) declare id: number;
    }
    @Resolver()
    class Fields {
      @Query(() => Whole) read() {
        return { id: 1 };
      }
      @Mutation(() => Int) @Idempotent({ keyFrom: { arg: 'id' } }) write(@Args('id') _id: string) {
        return 1;
      }
      @Subscription(() => Int) @Idempotent() events() {
        return NEVER;
      }
    }
    @Resolver(() => Whole)
    class Parts {
      @ResolveField(() => Int) @Idempotent() part() {
        return 1;
      }
    }
    const graphql = GraphQLModule.forRoot({ driver: ApolloDriver, autoSchemaFile: true, playground: false } as object);
    const imports = [IdempotencyModule.forRoot({}), graphql];

    expect(await boot({ imports, providers: [Fields, Parts] })).toEqual([
      `Fields.events() ${WITHOUT_EFFECT} a stream of events cannot be replayed.`,
      `Parts.part() ${WITHOUT_EFFECT} GraphQLModule needs fieldResolverEnhancers: ['interceptors'] for it.`,
    ]);
  });

  it('two message handlers of one name fail it: an event for both would run one of them', async () => {
    const consumer = (option?: false): Type => {
      @Controller()
      class Consumer {
        @EventPattern('placed') @Idempotent(option as never) handle(_data: unknown) {}
      }
      return Consumer;
    };

    await expect(withControllers(consumer(), consumer())).rejects.toThrow(
      'Consumer.handle() is a message handler of two classes that have the same name.',
    );
    expect(await withControllers(consumer(), consumer(false))).toEqual([]);
  });

  it('two handlers of requests may have one name, and a class may stand in two modules', async () => {
    const requests = (path: string): Type => {
      @Controller(path)
      class Requests {
        @Post() @Idempotent() handle() {}
      }
      return Requests;
    };
    @Controller()
    class Consumer {
      @EventPattern('placed') @Idempotent() handle(_data: unknown) {}
    }
    @Module({ controllers: [Consumer] })
    class Feature {}

    const imports = [IdempotencyModule.forRoot({}), Feature];
    expect(await boot({ imports, controllers: [requests('a'), requests('b'), Consumer] })).toEqual([]);
  });

  it('a second registration fails it, wherever it stands', async () => {
    @Module({ imports: [IdempotencyModule.forRoot({ ttl: '1h', isGlobal: false })] })
    class Feature {}

    await expect(boot({ imports: [IdempotencyModule.forRoot({}), Feature] })).rejects.toThrow(
      'IdempotencyModule is registered 2 times',
    );
    expect(await boot({ imports: [Feature] })).toEqual([]);
  });
});
