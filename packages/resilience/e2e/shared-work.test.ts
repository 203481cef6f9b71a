import { Controller, Get, Sse } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { CircuitBreaker, Signal, Timeout } from '@nestjs/resilience';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { from } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import { Backend, until } from './fixtures/backend.js';
import { send } from './fixtures/client.js';
import { BOTH, onSockets } from './fixtures/gateway.js';
import { onTransports, patternOf } from './fixtures/microservice.js';

/**
 * Calls that ask for the same thing may share one piece of work, which hangs on the signal of the first: when its client
 * leaves, the others are left without an answer of the work, but their clients are there.
 */

let backend: Backend;
let shared: Promise<unknown> | undefined;
let callers: number;

beforeEach(() => {
  backend = new Backend();
  shared = undefined;
  callers = 0;
});

const share = (signal: AbortSignal): Promise<unknown> => {
  callers++;
  return (shared ??= backend.call(signal));
};

const BREAKER = { name: 'shared', minimumCalls: 1 } as const;
const LEFT = { status: 'error', code: 'CLIENT_CLOSED_REQUEST', statusCode: 499 };

@WebSocketGateway()
class QuotesGateway {
  @SubscribeMessage('quotes')
  @Timeout('1m')
  @CircuitBreaker(BREAKER)
  quotes(@Signal() signal: AbortSignal) {
    return share(signal);
  }
}

onSockets(BOTH, 'A message that shares its work with one whose client leaves', (start) => {
  it('is answered, and blames nobody', async () => {
    const app = await start({ providers: [QuotesGateway], options: { abortOnDisconnect: 'always' } });
    const [leaving, staying] = [await app.connect(), await app.connect()];
    leaving.send('quotes');
    await backend.reached(1);
    staying.send('quotes');
    await until(() => callers === 2);
    leaving.drop();

    expect(await staying.next()).toMatchObject({ event: 'exception', data: LEFT });
    expect(leaving.received).toEqual([]);
    expect(app.resilience.circuitBreaker('shared').stats.total).toBe(0);
    expect(app.log.errors).toEqual([]);
  });
});

onSockets(['Socket.IO'], 'A message that shares its work with one whose client leaves', (start) => {
  it('is acknowledged', async () => {
    const app = await start({ providers: [QuotesGateway], options: { abortOnDisconnect: 'always' } });
    const [leaving, staying] = [await app.connect(), await app.connectIo()];
    leaving.send('quotes');
    await backend.reached(1);
    const answer: Promise<unknown> = staying.emitWithAck('quotes', {});
    await until(() => callers === 2);
    leaving.drop();

    expect(await answer).toMatchObject(LEFT);
  });
});

@Controller()
class QuotesController {
  @MessagePattern(patternOf('quotes'))
  @Timeout('1m')
  @CircuitBreaker(BREAKER)
  quotes(@Signal() signal: AbortSignal) {
    return share(signal);
  }

  @Get('quotes')
  @Timeout('1m')
  get(@Signal() signal: AbortSignal) {
    return share(signal);
  }

  @Sse('events')
  @Timeout('1m')
  events(@Signal() signal: AbortSignal) {
    return from(share(signal));
  }
}

onTransports(['TCP'], 'A message that shares its work with one whose client leaves', (start) => {
  it('is answered, and blames nobody', async () => {
    const app = await start({ controllers: [QuotesController], options: { abortOnDisconnect: 'always' } });
    const leaving = app.connect();
    leaving.send(patternOf('quotes'), {}).subscribe({ error: () => {} });
    await backend.reached(1);
    const answer = app.send(patternOf('quotes'));
    await until(() => callers === 2);
    await leaving.close();

    await expect(answer).rejects.toMatchObject(LEFT);
    expect(app.resilience.circuitBreaker('shared').stats.total).toBe(0);
    expect(app.log.errors).toEqual([]);
  });
});

onBothAdapters('A request that shares its work with one whose client leaves', (start) => {
  const startOne = async () => {
    const app = await start({ controllers: [QuotesController] });
    const leaving = send(`${app.url}/quotes`);
    await backend.reached(1);
    return { app, log: app.log, leave: () => leaving.destroy() };
  };

  it('is answered', async () => {
    const { app, leave, log } = await startOne();
    const answer = app.call('/quotes');
    await until(() => callers === 2);
    leave();

    expect(await answer).toMatchObject({ status: 499, body: { code: 'CLIENT_CLOSED_REQUEST' } });
    expect(log.errors).toEqual([]);
  });

  it('is told so where events are awaited, instead of nothing any more', async () => {
    const { app, leave, log } = await startOne();
    const events = await app.open('/events');
    leave();

    expect(await events.until('The client has disconnected')).toContain('event: error');
    expect(await events.closed).toBe('complete');
    expect(log.errors).toEqual([]);
  });
});
