import { Injectable, Scope } from '@nestjs/common';
import { Bulkhead, CircuitBreaker, Retry, ResilienceEvents, Signal, Timeout } from '@nestjs/resilience';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending, turns, until } from '../fixtures/backend.js';
import { BOTH, onSockets } from '../fixtures/gateway.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@WebSocketGateway()
class QuotesGateway {
  @SubscribeMessage('quotes')
  @CircuitBreaker({ name: 'carrier', minimumCalls: 1 })
  @Timeout('1m')
  @Bulkhead({ name: 'carrier', maxConcurrent: 1, maxQueue: 1 })
  quotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('waiting')
  @Retry({ attempts: 2, backoff: { delay: 500, jitter: 'none' } })
  waiting(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

/** A second gateway of the same server, which has the same message among its own. */
@WebSocketGateway()
class OrdersGateway {
  @SubscribeMessage('orders')
  @CircuitBreaker('carrier')
  @Timeout('1m')
  orders(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('waiting')
  @Timeout('1m')
  waiting(@MessageBody() data: unknown) {
    return { event: 'noted', data };
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerClient {
  readonly call = backend.call;
}

@WebSocketGateway()
class ScopedGateway {
  constructor(private readonly perClient: PerClient) {}

  @SubscribeMessage('scoped')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @Timeout('1s')
  @Bulkhead({ maxConcurrent: 2 })
  scoped(@Signal() signal: AbortSignal) {
    return this.perClient.call(signal);
  }
}

const reply = (data: unknown) => ({ event: 'quoted', data });
const FAILED = { event: 'exception', data: { message: 'Internal server error' } };
const OPEN = { event: 'exception', data: { code: 'CIRCUIT_OPEN', statusCode: 503 } };
const FULL = { event: 'exception', data: { code: 'BULKHEAD_FULL', statusCode: 503 } };

onSockets(BOTH, 'Gateways', (start) => {
  it('of two applications in one process share nothing and hear nothing of each other', async () => {
    const [one, other] = [await start({ providers: [QuotesGateway] }), await start({ providers: [QuotesGateway] })];
    const [client, stranger] = [await one.connect(), await other.connect()];
    backend.script((call) => call.fail(new DependencyError(503)));
    client.send('quotes');
    expect(await client.next()).toMatchObject(FAILED);
    client.send('quotes');
    expect(await client.next()).toMatchObject(OPEN);
    backend.script((call) => call.answer(reply('fine')));
    stranger.send('quotes');

    expect(await stranger.next()).toEqual(reply('fine'));
    expect(one.events.map(({ type }) => type)).toEqual(['circuit-open', 'circuit-rejected']);
    expect(other.events).toEqual([]);
    await one.app.close();
    stranger.send('quotes');
    expect(await stranger.next()).toEqual(reply('fine'));
  });

  it('of one application share what has a name', async () => {
    const { connect } = await start({ providers: [QuotesGateway, OrdersGateway] });
    const client = await connect();
    backend.script((call) => call.fail(new DependencyError(503)));
    client.send('orders');
    expect(await client.next()).toMatchObject(FAILED);
    client.send('quotes');

    expect(await client.next()).toMatchObject(OPEN);
  });

  it('count the messages of all clients together, each message by itself', async () => {
    const { connect } = await start({ providers: [QuotesGateway] });
    const [first, second, third] = [await connect(), await connect(), await connect()];
    first.send('quotes');
    const running = await backend.reached(1);
    second.send('quotes');
    await turns();
    third.send('quotes');

    expect(await third.next()).toMatchObject(FULL);
    running.answer(reply('first'));
    expect(await first.next()).toEqual(reply('first'));
    (await backend.reached(2)).answer(reply('second'));
    expect(await second.next()).toEqual(reply('second'));
  });

  it('that live as long as a connection repeat and limit as others do', async () => {
    const { connect, resilience } = await start({ providers: [ScopedGateway, PerClient] });
    const client = await connect();
    freezeTime();
    client.send('scoped');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await vi.advanceTimersByTimeAsync(1);
    (await backend.reached(2)).answer(reply('again'));

    expect(await client.next()).toEqual(reply('again'));
    expect(backend.states).toEqual(['cancelled', 'answered']);
    expect(resilience.bulkhead('ScopedGateway.scoped').active).toBe(0);
  });
});

onSockets(BOTH, 'A gateway that is closed while messages are handled', (start) => {
  it('lets them run to their end, under their limits, and holds nothing then', async () => {
    const { app, connect, resilience, log } = await start({ providers: [QuotesGateway] });
    const client = await connect();
    const ended = vi.fn();
    app.get(ResilienceEvents).events$.subscribe({ complete: ended });
    freezeTime();
    client.send('quotes');
    const running = await backend.reached(1);
    client.send('quotes');
    await until(() => resilience.bulkhead('carrier').queued === 1);
    await app.close();

    expect(ended).toHaveBeenCalledOnce();
    expect(running.state).toBe('running');
    expect(running.signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(running.state).toBe('cancelled');
    expect(resilience.bulkhead('carrier')).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(resilience.circuitBreaker('carrier').stats).toMatchObject({ total: 1, failures: 1 });
    expect(backend.calls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
    expect(log.errors).toEqual([]);
  });

  it('ends those that end with their clients, whose connections it closes', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(new DependencyError(503)) : undefined));
    const { app, connect, events, log } = await start({ providers: [QuotesGateway] });
    const client = await connect();
    freezeTime();
    client.send('waiting');
    await until(() => events.some(({ type }) => type === 'retry'));
    await app.close();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(events.map(({ type }) => type)).toEqual(['retry', 'client-gone']);
    expect(backend.calls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
    expect(log.errors).toEqual([]);
  });
});

onSockets(['Socket.IO'], 'Two gateways with the same message', (start) => {
  it('each handle it under their own policies', async () => {
    const { connectIo } = await start({ providers: [QuotesGateway, OrdersGateway] });
    const socket = await connectIo();
    const noted = new Promise((resolve) => socket.once('noted', resolve));
    backend.script((call, nth) => (nth === 1 ? call.fail(new DependencyError(503)) : undefined));
    freezeTime();
    const answer: Promise<unknown> = socket.emitWithAck('waiting', 7);

    expect(await noted).toBe(7);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(500);
    (await backend.reached(2)).answer('quoted');
    expect(await answer).toBe('quoted');
  });
});
