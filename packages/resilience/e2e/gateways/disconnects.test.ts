import type { EventEmitter } from 'node:events';
import {
  Catch,
  UseFilters,
  UseGuards,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  Fallback,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { ConnectedSocket, SubscribeMessage, WebSocketGateway, type OnGatewayConnection } from '@nestjs/websockets';
import { concat, from, map, NEVER, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, turns, until } from '../fixtures/backend.js';
import { BOTH, onSockets } from '../fixtures/gateway.js';

let backend: Backend;
/** The gateway's ends of the connections, in the order of their coming. */
let sockets: EventEmitter[];
let failures: unknown[];

beforeEach(() => {
  backend = new Backend();
  sockets = [];
  failures = [];
});

const reply = async (answer: Promise<unknown>) => ({ event: 'quoted', data: await answer });

/** Lets a message through when its client has begun to leave, which Nest has not heard of. */
class LeavingGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const socket = context.switchToWs().getClient<{ readonly readyState: number }>();
    await until(() => socket.readyState >= 2);
    return true;
  }
}

@Catch()
class NotingFilter implements ExceptionFilter {
  catch(error: unknown): void {
    failures.push(error);
  }
}

@WebSocketGateway()
class QuotesGateway implements OnGatewayConnection {
  handleConnection(socket: EventEmitter): void {
    sockets.push(socket);
  }

  @SubscribeMessage('repeatable')
  @Timeout('1m')
  @Retry({ attempts: 3, backoff: { delay: 100 } })
  @CircuitBreaker({ name: 'repeatable', minimumCalls: 1 })
  @Bulkhead({ name: 'repeatable', maxConcurrent: 1 })
  @Fallback(() => backend.call())
  repeatable(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('plain')
  @Timeout('1m')
  plain(@Signal() signal: AbortSignal) {
    return reply(backend.call(signal));
  }

  @SubscribeMessage('counted')
  @Timeout('1m')
  @CircuitBreaker({ name: 'counted', minimumCalls: 1 })
  @Bulkhead({ name: 'counted', maxConcurrent: 1 })
  counted(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('streamed')
  @Timeout('1m')
  streamed(@Signal() signal: AbortSignal) {
    return concat(of('ground'), from(backend.call(signal))).pipe(map((data) => ({ event: 'quoted', data })));
  }

  @SubscribeMessage('silent')
  @Bulkhead({ name: 'silent', maxConcurrent: 1 })
  silent(@ConnectedSocket() _socket: unknown, @Signal() signal: AbortSignal) {
    void backend.call(signal).catch((error: unknown) => failures.push(error));
    return NEVER;
  }

  @SubscribeMessage('leaving')
  @UseGuards(LeavingGuard)
  @UseFilters(NotingFilter)
  @Timeout('1m')
  leaving() {
    return backend.call();
  }
}

onSockets(BOTH, 'A client whose socket closes', (start, name) => {
  const startQuotes = (abortOnDisconnect?: 'always' | 'never' | 'safe') =>
    start({ providers: [QuotesGateway], options: { abortOnDisconnect } });
  const closing = name === 'ws' ? 'close' : 'disconnect';

  it.each([
    ['repeatable', undefined],
    ['plain', 'always'],
  ] as const)('ends the attempt with an error of its own (%s, abortOnDisconnect: %s)', async (event, setting) => {
    const { connect, events, log } = await startQuotes(setting);
    const client = await connect();
    client.send(event);
    const running = await backend.reached(1);
    client.drop();

    await until(() => running.state === 'cancelled');
    expect(running.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(running.signal?.reason).toMatchObject({ policy: `QuotesGateway.${event}` });
    await turns();
    expect(events.filter(({ type }) => type === 'client-gone')).toMatchObject([{ source: `QuotesGateway.${event}` }]);
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('is nobody’s failure: nothing is repeated, replaced, counted, sent, logged or held', async () => {
    const { connect, events, log, resilience } = await startQuotes();
    const client = await connect();
    freezeTime();
    client.send('repeatable');
    await backend.reached(1);
    const sent = vi.spyOn(sockets[0] as EventEmitter & { send(): void }, 'send');
    const emitted = vi.spyOn(sockets[0] as EventEmitter, 'emit');
    client.drop();
    await until(() => backend.states[0] === 'cancelled');
    await turns();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(1);
    expect(events.map(({ type }) => type).filter((type) => type !== 'abandoned')).toEqual(['client-gone']);
    expect(resilience.bulkhead('repeatable')).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(resilience.circuitBreaker('repeatable').stats.total).toBe(0);
    expect(sent).not.toHaveBeenCalled();
    expect(emitted.mock.calls.filter(([event]) => event === 'exception')).toEqual([]);
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('ends the wait between two attempts', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { connect, events, log } = await startQuotes();
    const client = await connect();
    freezeTime();
    client.send('repeatable');
    await until(() => events.some(({ type }) => type === 'retry'));
    client.drop();
    await until(() => events.some(({ type }) => type === 'client-gone'));
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(1);
    expect(log.errors).toEqual([]);
  });

  it.each([
    ['plain', undefined],
    ['plain', 'safe'],
    ['repeatable', 'never'],
  ] as const)('leaves the handler alone otherwise (%s, abortOnDisconnect: %s)', async (event, setting) => {
    const { connect, events, log } = await startQuotes(setting);
    const client = await connect();
    client.send(event);
    const running = await backend.reached(1);
    client.drop();
    await until(() => isClosed(sockets[0]));
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(events).toEqual([]);
    expect(log.errors).toEqual([]);
  });

  it('lets what it leaves alone run under its limits, hold its slot and count', async () => {
    const { connect, events, log, resilience } = await startQuotes();
    const client = await connect();
    freezeTime();
    client.send('counted');
    const running = await backend.reached(1);
    client.drop();
    await until(() => isClosed(sockets[0]));
    await turns();
    expect(resilience.bulkhead('counted')).toMatchObject({ active: 1, abandoned: 0 });
    await vi.advanceTimersByTimeAsync(60_000);

    expect(running.state).toBe('cancelled');
    expect(events.map(({ type }) => type)).toEqual(['timeout', 'abandoned', 'circuit-open']);
    expect(resilience.bulkhead('counted')).toMatchObject({ active: 0, abandoned: 0 });
    expect(resilience.circuitBreaker('counted').stats).toMatchObject({ total: 1, failures: 1 });
    expect(log.errors).toEqual([]);
  });

  it('ends an Observable, before its first value and after it, as Nest does', async () => {
    const { connect, log, resilience } = await startQuotes();
    const client = await connect();
    client.send('silent');
    client.send('streamed');
    expect(await client.next()).toEqual({ event: 'quoted', data: 'ground' });
    await backend.reached(2);
    client.drop();

    await until(() => backend.states.join() === 'cancelled,cancelled');
    expect(failures).toEqual([expect.any(ClientDisconnectedError)]);
    expect(resilience.bulkhead('silent')).toMatchObject({ active: 0, abandoned: 0 });
    expect(log.errors).toEqual([]);
  });

  it('ends every message of the socket, and no message of another one', async () => {
    const { connect, log } = await startQuotes('always');
    const [leaving, staying] = [await connect(), await connect()];
    staying.send('plain');
    const kept = await backend.reached(1);
    for (let count = 1; count <= 20; count++) leaving.send('plain');
    await backend.reached(21);
    leaving.drop();

    await until(() => backend.states.filter((state) => state === 'cancelled').length === 20);
    expect(kept.state).toBe('running');
    kept.answer('done');
    expect(await staying.next()).toEqual({ event: 'quoted', data: 'done' });
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('is listened for once per socket, and no longer than a message takes', async () => {
    const { connect } = await startQuotes('always');
    const client = await connect();
    const listeners = () => sockets[0]?.listenerCount(closing);
    await until(() => sockets.length === 1);
    await turns();
    const idle = listeners() as number;
    for (let count = 1; count <= 20; count++) client.send('plain');
    await backend.reached(20);
    expect(listeners()).toBe(idle + 1);

    backend.calls.forEach((call) => call.answer('done'));
    await until(() => client.received.length === 20);
    expect(listeners()).toBe(idle);
  });

  it('is not listened for by messages that do not end with it', async () => {
    const { connect } = await startQuotes();
    const client = await connect();
    await until(() => sockets.length === 1);
    await turns();
    const idle = sockets[0]?.listenerCount(closing);
    client.send('plain');
    await backend.reached(1);

    expect(sockets[0]?.listenerCount(closing)).toBe(idle);
  });
});

onSockets(['ws'], 'A client that has begun to leave', (start) => {
  it('has nothing started for it any more, and no filter hears of it', async () => {
    const { connect, events, log } = await start({
      providers: [QuotesGateway],
      options: { abortOnDisconnect: 'always' },
    });
    const client = await connect();
    client.send('leaving');
    client.leave();
    await until(() => events.length > 0);
    await until(() => isClosed(sockets[0]));
    await turns();

    expect(events).toMatchObject([{ type: 'client-gone', source: 'QuotesGateway.leaving' }]);
    expect(backend.calls).toEqual([]);
    expect(failures).toEqual([]);
    expect(log.errors).toEqual([]);
  });
});

/** As either kind of socket shows it. */
function isClosed(socket: EventEmitter | undefined): boolean {
  const { readyState, connected } = socket as { readyState?: number; connected?: boolean };

  return readyState === 3 || connected === false;
}
