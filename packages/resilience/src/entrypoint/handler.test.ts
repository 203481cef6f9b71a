import { All, Controller, Get, Next, Post, RequestMethod, Res, SetMetadata, Sse } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod, MessagePattern } from '@nestjs/microservices';
import { Ack, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from 'vitest';
import { Signal } from '../index.js';
import {
  describeHandler,
  isEntryClass,
  isHandler,
  methodNameOf,
  methodsOf,
  signalParameters,
  takesAcknowledgement,
  writesResponse,
  type Handler,
} from 'holdfast/nest';

@Controller('shop')
class Shop {
  @Get()
  list(): void {}

  @Post()
  create(@Signal() _signal: AbortSignal): void {}

  @All()
  any(@Res() _response: unknown): void {}

  @Sse()
  changes(@Next() _next: unknown): void {}

  @Get()
  @MessagePattern('both')
  both(@Res({ passthrough: true }) _response: unknown): void {}

  @GrpcMethod('Shop')
  unary(_data: unknown): void {}

  @GrpcStreamMethod('Shop')
  upload(_data: unknown): void {}

  @GrpcStreamCall('Shop')
  chat(_data: unknown): void {}

  @SetMetadata('graphql:resolver_type', 'Query')
  query(): void {}

  @SetMetadata('graphql:resolver_type', 'Author')
  legacyField(): void {}

  plain(): void {}

  get total(): number {
    throw new Error('a getter is not to be called');
  }
}

function handlerOf(name: string): Handler {
  return describeHandler(Shop, name, (Shop.prototype as unknown as Record<string, Function>)[name] as Function);
}

describe('what Nest says of a method', () => {
  it.each([
    ['list', { http: RequestMethod.GET, rpc: false, serverSentEvents: false }],
    ['create', { http: RequestMethod.POST }],
    ['any', { http: RequestMethod.ALL }],
    ['changes', { http: RequestMethod.GET, serverSentEvents: true }],
    ['both', { http: RequestMethod.GET, rpc: true, requestStream: false }],
    ['unary', { http: undefined, rpc: true, requestStream: false }],
    ['upload', { rpc: true, requestStream: true, passedThrough: false }],
    ['chat', { rpc: true, requestStream: true, passedThrough: true }],
    ['query', { graphql: 'query', rpc: false }],
    ['legacyField', { graphql: 'field' }],
  ])('is right for %s', (name, kinds) => {
    expect(handlerOf(name).kinds).toMatchObject(kinds);
    expect(isHandler(handlerOf(name))).toBe(true);
  });

  it('is nothing for a method that is no handler', () => {
    expect(isHandler(handlerOf('plain'))).toBe(false);
  });

  it('includes @Signal() parameters', () => {
    expect(['create', 'any', 'list'].map((name) => signalParameters(handlerOf(name)))).toEqual([[0], [], []]);
  });

  it('includes whether it writes the response itself', () => {
    expect(['any', 'changes', 'both', 'create', 'plain'].map((name) => writesResponse(handlerOf(name)))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('includes whether a gateway’s handler acknowledges by itself, also an inherited one', () => {
    class Base {
      @SubscribeMessage('by-hand')
      byHand(@Ack() _acknowledge: unknown): void {}

      @SubscribeMessage('by-nest')
      byNest(_data: unknown): void {}
    }
    @WebSocketGateway()
    class Gateway extends Base {}

    expect([Base, Gateway].map((cls) => takesAcknowledgement(cls, Base.prototype.byHand))).toEqual([true, true]);
    expect(takesAcknowledgement(Gateway, Base.prototype.byNest)).toBe(false);
  });

  it('tells entry classes from others', () => {
    expect(isEntryClass(Shop)).toBe(true);
    expect(isEntryClass(class {})).toBe(false);
  });
});

describe('the methods of a class', () => {
  class Base {
    inherited(): string {
      return 'base';
    }

    overridden(): string {
      return 'base';
    }
  }

  class Derived extends Base {
    own(): void {}

    override overridden(): string {
      return 'derived';
    }

    get value(): number {
      throw new Error('a getter is not to be called');
    }
  }

  it('are its own and the inherited ones, without the constructor and getters', () => {
    expect([...methodsOf(Derived)].map(([name]) => name)).toEqual(['own', 'overridden', 'inherited']);
    expect(new Map(methodsOf(Derived)).get('overridden')).toBe(Derived.prototype.overridden);
  });

  it('are found by what they are, whatever they are called themselves', () => {
    const anonymous = (() => () => {})();
    Object.defineProperty(Derived.prototype, 'replaced', { value: anonymous, configurable: true });

    expect(methodNameOf(Derived, anonymous)).toBe('replaced');
    expect(methodNameOf(Derived, Base.prototype.inherited)).toBe('inherited');
    expect(methodNameOf(Derived, () => {})).toBeUndefined();
  });

  it('are none for functions without a prototype', () => {
    expect([...methodsOf(() => {})]).toEqual([]);
  });
});
