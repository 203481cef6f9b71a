import { connect, type Server, type Socket } from 'node:net';
import { Controller } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  Fallback,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { concat, from, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, turns, until } from '../fixtures/backend.js';
import { onTransports, patternOf, portOf, afterTest, type Microservice } from '../fixtures/microservice.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Controller()
class QuotesHandlers {
  @MessagePattern(patternOf('repeatable'))
  @Timeout('1m')
  @Retry({ attempts: 3, backoff: { delay: 100 } })
  @CircuitBreaker({ name: 'repeatable', minimumCalls: 1 })
  @Bulkhead({ name: 'repeatable', maxConcurrent: 1 })
  @Fallback(() => backend.call())
  repeatable(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('plain'))
  @Timeout('1m')
  plain(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('streamed'))
  @Timeout('1m')
  streamed(@Signal() signal: AbortSignal) {
    return concat(of('ground'), from(backend.call(signal)));
  }

  @EventPattern<string>(patternOf('event'))
  @Timeout('1m')
  event(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

onTransports(['TCP'], 'A client whose connection closes', (start) => {
  const startQuotes = (abortOnDisconnect?: 'always' | 'never' | 'safe') =>
    start({ controllers: [QuotesHandlers], options: { abortOnDisconnect } });
  /** A connection of its own, to see what comes through it. */
  const open = async ({ app }: Microservice): Promise<Socket & { received: string }> => {
    const socket = Object.assign(connect(portOf(app), '127.0.0.1'), { received: '' });
    afterTest(() => socket.destroy());
    socket.on('data', (data) => (socket.received += data.toString()));
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    return socket;
  };
  const ask = (socket: Socket, pattern: string, id?: number): void => {
    const packet = JSON.stringify({ pattern: patternOf(pattern), data: {}, id });
    socket.write(`${packet.length}#${packet}`);
  };
  /** The microservice's ends of connections to come. */
  const accepted = ({ app }: Microservice): Socket[] => {
    const sockets: Socket[] = [];
    app.unwrap<Server>().on('connection', (socket: Socket) => sockets.push(socket));
    return sockets;
  };

  it.each([
    ['repeatable', undefined],
    ['plain', 'always'],
  ] as const)('ends the attempt with an error of its own (%s, abortOnDisconnect: %s)', async (pattern, setting) => {
    const service = await startQuotes(setting);
    const socket = await open(service);
    ask(socket, pattern, 1);
    const running = await backend.reached(1);
    socket.destroy();

    await until(() => running.state === 'cancelled');
    expect(running.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(running.signal?.reason).toMatchObject({ policy: `QuotesHandlers.${pattern}` });
    await turns();
    expect(service.events[0]).toMatchObject({ type: 'client-gone', source: `QuotesHandlers.${pattern}` });
    expect(service.log).toMatchObject({ errors: [], warnings: [] });
  });

  it('is nobody’s failure: nothing is repeated, replaced, counted, logged or held', async () => {
    const service = await startQuotes();
    const socket = await open(service);
    freezeTime();
    ask(socket, 'repeatable', 1);
    await backend.reached(1);
    socket.destroy();
    await until(() => backend.states[0] === 'cancelled');
    await turns();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(1);
    expect(service.events.map(({ type }) => type).filter((type) => type !== 'abandoned')).toEqual(['client-gone']);
    expect(service.resilience.bulkhead('repeatable')).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(service.resilience.circuitBreaker('repeatable').stats.total).toBe(0);
    expect(service.log).toMatchObject({ errors: [], warnings: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends the wait between two attempts', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const service = await startQuotes();
    const socket = await open(service);
    freezeTime();
    ask(socket, 'repeatable', 1);
    await until(() => service.events.some(({ type }) => type === 'retry'));
    socket.destroy();
    await until(() => service.events.some(({ type }) => type === 'client-gone'));
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(1);
    expect(service.log.errors).toEqual([]);
  });

  it.each([
    ['plain', undefined],
    ['event', 'safe'],
    ['repeatable', 'never'],
  ] as const)('leaves the handler alone otherwise (%s, abortOnDisconnect: %s)', async (pattern, setting) => {
    const service = await startQuotes(setting);
    const socket = await open(service);
    ask(socket, pattern, 1);
    const running = await backend.reached(1);
    socket.destroy();
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(service.events).toEqual([]);
    expect(service.log.errors).toEqual([]);
  });

  it('ends every call of the connection, and no call of another one', async () => {
    const service = await startQuotes('always');
    const [leaving, staying] = [await open(service), await open(service)];
    ask(staying, 'plain', 1);
    const kept = await backend.reached(1);
    for (let id = 1; id <= 20; id++) ask(leaving, 'plain', id);
    await backend.reached(21);
    leaving.destroy();

    await until(() => backend.states.filter((state) => state === 'cancelled').length === 20);
    expect(kept.state).toBe('running');
    kept.answer('done');
    await until(() => staying.received.includes('done'));
    expect(service.log).toMatchObject({ errors: [], warnings: [] });
  });

  it('ends a stream in the middle, and an event that it has sent', async () => {
    const service = await startQuotes('always');
    const socket = await open(service);
    ask(socket, 'streamed', 1);
    await until(() => socket.received.includes('ground'));
    ask(socket, 'event');
    await backend.reached(2);
    socket.destroy();

    await until(() => backend.states.join() === 'cancelled,cancelled');
    await turns();
    expect(service.log.errors).toEqual([]);
  });

  it('is listened for once per connection, and no longer than a call lasts', async () => {
    const service = await startQuotes('always');
    const sockets = accepted(service);
    const socket = await open(service);
    await until(() => sockets.length === 1);
    const listeners = () => sockets[0]?.listenerCount('close') ?? 0;
    const idle = listeners();
    for (let id = 1; id <= 20; id++) ask(socket, 'plain', id);
    await backend.reached(20);
    expect(listeners()).toBe(idle + 1);

    backend.calls.forEach((call) => call.answer('done'));
    await until(() => socket.received.split('done').length === 21);
    expect(listeners()).toBe(idle);
  });
});
