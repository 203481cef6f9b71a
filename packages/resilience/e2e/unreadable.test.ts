import { Controller, Get, Injectable } from '@nestjs/common';
import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { GrpcMethod, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { CircuitOpenError, fanOut, optional, Timeout } from '@nestjs/resilience';
import { concat, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import { onEachServer } from './fixtures/graphql.js';
import { closeGrpcAfterEach, startGrpc } from './fixtures/grpc.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from './fixtures/microservice.js';

/**
 * Applications make errors of our classes too, and may have made them so that they throw when they are read. Whoever
 * waits for an answer gets one; that the process lives on is what the suite itself watches.
 */

const refuse = (): never => {
  throw new Error('not to be read');
};

const unreadable = (): never => {
  throw Object.defineProperty(new CircuitOpenError('carrier', 1_000), 'code', { get: refuse });
};

/** Its code is the name of what every object has. */
const oddlyCoded = (): never => {
  throw Object.defineProperty(new CircuitOpenError('carrier', 1_000), 'code', { value: 'constructor' });
};

const UNAVAILABLE = 'Service temporarily unavailable';

@Controller()
class Handlers {
  @Get('plain')
  @MessagePattern(patternOf('plain'))
  plain() {
    return unreadable();
  }

  @Get('limited')
  @MessagePattern(patternOf('limited'))
  @Timeout('5s')
  limited() {
    return unreadable();
  }

  @Get('odd')
  @MessagePattern(patternOf('odd'))
  odd() {
    return oddlyCoded();
  }
}

const HANDLERS = ['plain', 'limited'] as const;

onBothAdapters('An error that does not let itself be read', (start) => {
  it.each(HANDLERS)('is answered as an error of nobody’s (%s)', async (path) => {
    const app = await start({ controllers: [Handlers] });

    expect((await app.call(`/${path}`)).body).toEqual({ statusCode: 500, message: 'Internal server error' });
  });
});

onTransports(EVERY_TRANSPORT, 'An error that does not let itself be read', (start) => {
  it.each(HANDLERS)('is answered as an error of nobody’s (%s)', async (name) => {
    const { send } = await start({ controllers: [Handlers] });

    await expect(send(patternOf(name))).rejects.toEqual({ status: 'error', message: 'Internal server error' });
  });

  it('has the message of its kind, whatever its code', async () => {
    const { send } = await start({ controllers: [Handlers] });

    await expect(send(patternOf('odd'))).rejects.toMatchObject({ statusCode: 503, message: UNAVAILABLE });
  });
});

@Controller()
class GrpcHandlers {
  @GrpcMethod('Calls', 'Unary')
  unary() {
    return unreadable();
  }

  @GrpcMethod('Calls', 'ServerStream')
  @Timeout('5s')
  serverStream() {
    return unreadable();
  }

  @GrpcStreamMethod('Calls', 'Bidi')
  bidi() {
    return oddlyCoded();
  }
}

describe('An error that does not let itself be read (gRPC)', () => {
  closeGrpcAfterEach();

  it.each(['unary', 'serverStream'] as const)('is answered as an error of nobody’s (%s)', async (method) => {
    const app = await startGrpc({ controllers: [GrpcHandlers] });

    expect(await app.call(method)).toMatchObject({ code: 2, details: 'Internal server error' });
  });

  it('has the status and the message of its kind, whatever its code', async () => {
    const app = await startGrpc({ controllers: [GrpcHandlers] });

    expect(await app.call('bidi')).toMatchObject({ code: 14, details: UNAVAILABLE });
  });
});

@ObjectType()
class Page {
  @Field(() => String, { nullable: true })
  reviews!: string | null;
}

const closed = (): object => new Proxy({}, { getPrototypeOf: refuse, ownKeys: refuse });

const pagesOf = async (): Promise<unknown[]> => [
  await fanOut({ reviews: optional(() => 'fine', { timeout: '1s', fallback: null }) }),
  closed(),
];

@Injectable()
@Resolver()
class PagesResolver {
  @Query(() => String, { nullable: true })
  plain() {
    return unreadable();
  }

  @Query(() => String, { nullable: true })
  @Timeout('5s')
  limited() {
    return unreadable();
  }

  @Query(() => String, { nullable: true })
  odd() {
    return oddlyCoded();
  }

  @Query(() => [Page], { nullable: true })
  plainPages() {
    return concat(of(null), pagesOf());
  }

  @Query(() => [Page], { nullable: true })
  @Timeout('5s')
  limitedPages() {
    return concat(of(null), pagesOf());
  }
}

onEachServer('What does not let itself be read', (start) => {
  it.each(HANDLERS)('is the error of its field (%s)', async (field) => {
    const app = await start({ providers: [PagesResolver] });
    const { body } = await app.query(`{ __typename ${field} }`);

    expect(body).toMatchObject({ data: { __typename: 'Query', [field]: null }, errors: [{ path: [field] }] });
  });

  it.each(['plainPages', 'limitedPages'])('fails the field whose value it is part of (%s)', async (field) => {
    const app = await start({ providers: [PagesResolver] });
    const { body } = await app.query(`{ ${field} { reviews } }`);

    expect(body).toMatchObject({ data: { [field]: null }, errors: [{ path: [field], message: 'not to be read' }] });
  });

  it('has the message of its kind, whatever its code', async () => {
    const app = await start({ providers: [PagesResolver] });

    expect((await app.query('{ odd }')).body.errors).toMatchObject([{ path: ['odd'], message: UNAVAILABLE }]);
  });
});
