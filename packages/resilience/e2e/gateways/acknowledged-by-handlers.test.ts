import { Injectable, Module, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { CircuitOpenError, Fallback, Retry, Signal, Timeout } from '@nestjs/resilience';
import { Ack, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { from, map, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending, turns, until } from '../fixtures/backend.js';
import { onSockets, type GatewayDefinition, type Received } from '../fixtures/gateway.js';

type Acknowledge = (answer: unknown) => void;

let backend: Backend;
const down = new CircuitOpenError('carrier', 1_001);

beforeEach(() => {
  backend = new Backend();
});

/** Whose handlers have no decorated parameters, so that Nest passes all there is, and acknowledges what they return. */
@WebSocketGateway()
class PlainParametersGateway {
  readonly sockets: unknown[] = [];

  handleConnection(socket: unknown): void {
    this.sockets.push(socket);
  }

  @SubscribeMessage('limited')
  @Timeout('1s')
  limited(_socket: unknown, early: boolean, acknowledge: Acknowledge) {
    if (early) acknowledge('early');
    return backend.call();
  }

  @SubscribeMessage('repeated')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @Timeout('1s')
  @Fallback(() => 'flat')
  repeated(_socket: unknown, early: boolean, acknowledge: Acknowledge) {
    if (early) acknowledge('early');
    return backend.call();
  }

  @SubscribeMessage('undecorated')
  async undecorated(_socket: unknown, early: boolean, acknowledge: Acknowledge) {
    if (early) acknowledge('early');
    await turns(1);
    throw down;
  }

  @SubscribeMessage('undecorated-with-ack')
  undecoratedWithAck(@MessageBody() early: boolean, @Ack() acknowledge: Acknowledge) {
    return this.undecorated(undefined, early, acknowledge);
  }

  @SubscribeMessage('twice')
  @Timeout('1s')
  twice(_socket: unknown, _data: unknown, acknowledge: Acknowledge) {
    acknowledge('first');
    acknowledge('second');
    return 'third';
  }
}

const FALLBACKS: Readonly<Record<string, () => unknown>> = {
  value: () => ({ price: 4.99 }),
  promise: async () => ({ price: 4.99 }),
  stream: () => from([null, { price: 4.99 }, { price: 9.98 }]),
  falsy: () => 0,
  event: () => ({ event: 'quoted', data: 4.99 }),
  nothing: () => undefined,
};

@WebSocketGateway()
class ReplacedGateway {
  @SubscribeMessage('replaced')
  @Timeout('1s')
  @Fallback((_error, context) => FALLBACKS[context.switchToWs().getData<string>()]?.())
  async replaced(@Ack() acknowledge: Acknowledge, @Signal() signal: AbortSignal) {
    acknowledge(await backend.call(signal));
  }

  @SubscribeMessage('returned')
  @Timeout('1s')
  @Fallback(() => 'flat')
  returned(@Ack() _acknowledge: Acknowledge) {
    return of('what Nest does not acknowledge');
  }
}

const OPEN = {
  status: 'error',
  code: 'CIRCUIT_OPEN',
  statusCode: 503,
  message: 'Service temporarily unavailable',
  retryAfter: 2,
};
const TIMED_OUT = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };

/** A wrapper of replies, as applications have them, around our own interceptor. */
@Injectable()
class ReplyInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((data: unknown) => ({ event: 'reply', data })));
  }
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: ReplyInterceptor }] })
class ReplyModule {}

onSockets(['Socket.IO'], 'A handler that acknowledges by itself', (start) => {
  const connect = async (definition: GatewayDefinition) => {
    const gateway = await start(definition);
    const socket = await gateway.connectIo();
    const received: Received[] = [];
    socket.onAny((event: string, data: unknown) => received.push({ event, data }));
    freezeTime();
    const ask = (event: string, data: unknown): Promise<unknown> => socket.emitWithAck(event, data);
    return { ...gateway, received, ask };
  };
  const plain = () => connect({ providers: [PlainParametersGateway] });

  it.each(['undecorated', 'undecorated-with-ack'])(
    'has what fails afterwards emitted, since its client has its acknowledgement (%s)',
    async (event) => {
      const { ask, received } = await plain();

      expect(await ask(event, true)).toBe('early');
      await until(() => received.length > 0);
      expect(received).toEqual([{ event: 'exception', data: OPEN }]);
    },
  );

  it.each(['undecorated', 'undecorated-with-ack'])('has what fails before acknowledged (%s)', async (event) => {
    const { ask, received } = await plain();

    expect(await ask(event, false)).toStrictEqual(OPEN);
    await turns();
    expect(received).toEqual([]);
  });

  it('has committed with that, without @Ack() too: no limit, no other attempt and no fallback', async () => {
    const { ask, received, log } = await plain();
    expect(await ask('limited', true)).toBe('early');
    expect(await ask('repeated', true)).toBe('early');
    const [limited, repeated] = [await backend.reached(1), await backend.reached(2)];
    await vi.advanceTimersByTimeAsync(10_000);
    limited.answer(undefined);
    repeated.fail(down);
    await until(() => received.length > 0);

    expect(received).toEqual([{ event: 'exception', data: OPEN }]);
    expect(backend.calls).toHaveLength(2);
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('is limited, repeated and replaced until then', async () => {
    backend.script((call, nth) => (nth > 1 ? call.fail(new DependencyError(503)) : undefined));
    const { ask } = await plain();
    const limited = ask('limited', false);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await limited).toStrictEqual(TIMED_OUT);
    const repeated = ask('repeated', false);
    await backend.reached(2);
    await vi.advanceTimersByTimeAsync(1);

    expect(await repeated).toBe('flat');
    expect(backend.calls).toHaveLength(3);
  });

  it('may do so several times, of which its client hears the first', async () => {
    const { ask, received, log } = await plain();

    expect(await ask('twice', {})).toBe('first');
    await turns();
    expect(received).toEqual([]);
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it.each([
    ['value', { price: 4.99 }],
    ['promise', { price: 4.99 }],
    ['stream', { price: 4.99 }],
    ['falsy', 0],
  ])('and has not come to it is acknowledged by its fallback (%s)', async (kind, answer) => {
    const { ask, received } = await connect({ providers: [ReplacedGateway] });
    const asked = ask('replaced', kind);
    const late = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await asked).toEqual(answer);
    late.answer('late');
    await turns();
    expect(received).toEqual([]);
  });

  it.each([
    ['event', [{ event: 'quoted', data: 4.99 }]],
    ['nothing', []],
  ])('is not, where a fallback says no more than Nest would acknowledge (%s)', async (kind, emitted) => {
    const { ask, received } = await connect({ providers: [ReplacedGateway] });
    const asked = ask('replaced', kind);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await isPending(asked)).toBe(true);
    expect(received).toEqual(emitted);
  });

  it('is not acknowledged by what it returns, as in Nest', async () => {
    const { ask } = await connect({ providers: [ReplacedGateway] });

    expect(await isPending(ask('returned', {}))).toBe(true);
  });

  it.each(['limited', 'repeated'])('may do so when its client has left (%s)', async (event) => {
    const { ask, app, connectIo, log } = await plain();
    const leaving = await connectIo();
    leaving.emit(event, false, () => {});
    const running = await backend.reached(1);
    leaving.io.engine.close();
    await until(() => (app.get(PlainParametersGateway).sockets.at(-1) as { connected?: boolean }).connected === false);
    running.fail(down);
    await turns(50);

    expect(log).toMatchObject({ errors: [], warnings: [] });
    expect(await ask('undecorated', true)).toBe('early');
  });

  it('shows interceptors around it no reply where a failure was acknowledged', async () => {
    const { ask, received } = await connect({ providers: [PlainParametersGateway], before: [ReplyModule] });

    expect(await ask('undecorated', false)).toStrictEqual(OPEN);
    await turns();
    expect(received).toEqual([]);
  });
});
