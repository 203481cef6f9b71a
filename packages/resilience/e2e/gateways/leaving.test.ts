import type { EventEmitter } from 'node:events';
import {
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  ClientDisconnectedError,
  Resilience,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import {
  ConnectedSocket,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  type OnGatewayConnection,
} from '@nestjs/websockets';
import { concat, from, map, Observable, of } from 'rxjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, turns, until } from '../fixtures/backend.js';
import { BOTH, onSockets, type GatewayApplication, type GatewayClient } from '../fixtures/gateway.js';

let backend: Backend;
let sockets: EventEmitter[];
let followers: number;

beforeEach(() => {
  backend = new Backend();
  sockets = [];
  followers = 0;
});

@WebSocketGateway()
class QuotesGateway implements OnGatewayConnection {
  handleConnection(socket: EventEmitter): void {
    sockets.push(socket);
  }

  @SubscribeMessage('queued')
  @Timeout('1m')
  @CircuitBreaker({ name: 'queued', minimumCalls: 1 })
  @Bulkhead({ name: 'queued', maxConcurrent: 1, maxQueue: 10 })
  queued(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('tokens')
  @Resilience('partner')
  @Timeout('1m')
  tokens(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('uncooperative')
  @Timeout('1m')
  @CircuitBreaker({ name: 'uncooperative', minimumCalls: 1 })
  @Bulkhead({ name: 'uncooperative', maxConcurrent: 1 })
  uncooperative(@Signal() _signal: AbortSignal) {
    return backend.call();
  }

  @SubscribeMessage('failing-late')
  @Timeout('1m')
  async failingLate(@Signal() _signal: AbortSignal) {
    await backend.call();
    throw new CircuitOpenError('carrier', 1_001);
  }

  @SubscribeMessage('signing-off')
  @Timeout('1m')
  @CircuitBreaker({ name: 'signing-off', minimumCalls: 1 })
  @Bulkhead({ name: 'signing-off', maxConcurrent: 1 })
  async signingOff(@ConnectedSocket() socket: Closable, @Signal() signal: AbortSignal) {
    end(socket);
    await backend.call(signal);
  }

  @SubscribeMessage('following')
  @Bulkhead({ name: 'following', maxConcurrent: 1 })
  async following() {
    await backend.call();
    return followed();
  }

  @SubscribeMessage('following-off')
  @Bulkhead({ name: 'following', maxConcurrent: 1 })
  followingOff(@ConnectedSocket() socket: Closable) {
    end(socket);
    return followed();
  }

  @SubscribeMessage('held')
  @Timeout('1m')
  held(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('mixed')
  @Timeout('20ms')
  @Retry({ attempts: 2, backoff: { delay: 5 } })
  @CircuitBreaker({ name: 'mixed', minimumCalls: 1_000_000, slidingWindow: { type: 'time', size: '1m' } })
  @Bulkhead({ name: 'mixed', maxConcurrent: 20, maxQueue: 2_000 })
  mixed(@MessageBody() nth: number, @Signal() signal: AbortSignal) {
    const answer = backend.call(nth % 3 === 0 ? undefined : signal);
    if (nth % 4 === 0) return concat(of(nth), from(answer)).pipe(map((data) => ({ event: 'quoted', data })));
    return answer;
  }
}

/** Either kind of socket. */
interface Closable {
  disconnect?(close: boolean): void;
  terminate?(): void;
}

function end(socket: Closable): void {
  if (socket.disconnect === undefined) socket.terminate?.();
  else socket.disconnect(true);
}

/** A stream without an end. */
function followed(): Observable<unknown> {
  return new Observable(() => {
    followers += 1;
    return () => (followers -= 1);
  });
}

type AbortOnDisconnect = 'always' | 'never' | 'safe';

const OPTIONS = {
  abortOnDisconnect: 'always',
  presets: { partner: { outboundRateLimit: { limit: 1, interval: '1s', maxWait: '5s' } } },
} as const;

onSockets(BOTH, 'A client that leaves', (start, name) => {
  const closing = name === 'ws' ? 'close' : 'disconnect';
  const startQuotes = (abortOnDisconnect: AbortOnDisconnect = 'always') =>
    start({ providers: [QuotesGateway], options: { ...OPTIONS, abortOnDisconnect } });

  it.each(['always', 'safe'] as const)(
    'leaves the queue of a bulkhead, and nothing runs for it (abortOnDisconnect: %s)',
    async (setting) => {
      const { connect, resilience, log } = await startQuotes(setting);
      const [staying, leaving, last] = [await connect(), await connect(), await connect()];
      staying.send('queued');
      const running = await backend.reached(1);
      const bulkhead = resilience.bulkhead('queued');
      for (let count = 1; count <= 3; count++) leaving.send('queued');
      await until(() => bulkhead.queued === 3);
      last.send('queued');
      await until(() => bulkhead.queued === 4);
      leaving.drop();
      await until(() => bulkhead.queued === 1);
      running.answer({ event: 'quoted', data: 'first' });
      (await backend.reached(2)).answer({ event: 'quoted', data: 'last' });

      expect(await staying.next()).toEqual({ event: 'quoted', data: 'first' });
      expect(await last.next()).toEqual({ event: 'quoted', data: 'last' });
      expect(backend.calls).toHaveLength(2);
      expect(bulkhead).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
      expect(resilience.circuitBreaker('queued').stats).toMatchObject({ total: 2, failures: 0 });
      expect(log).toMatchObject({ errors: [], warnings: [] });
    },
  );

  it.each(['always', 'safe'] as const)(
    'gives back the token that it waits for (abortOnDisconnect: %s)',
    async (setting) => {
      const { connect, resilience, log, events } = await startQuotes(setting);
      const [staying, leaving] = [await connect(), await connect()];
      backend.script((call) => call.answer({ event: 'quoted', data: 'fine' }));
      freezeTime();
      staying.send('tokens');
      expect(await staying.next()).toMatchObject({ data: 'fine' });
      for (let count = 1; count <= 6; count++) leaving.send('tokens');
      // Five wait by then: the sixth would have to wait for longer than it may.
      await until(() => events.some((event) => event.type === 'rate-limited' && event.retryAfterMs === 6_000));
      leaving.drop();
      await until(() => vi.getTimerCount() === 0);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(resilience.outboundRateLimit('partner').available).toBe(1);
      staying.send('tokens');

      expect(await staying.next()).toMatchObject({ data: 'fine' });
      expect(backend.calls).toHaveLength(2);
      expect(log).toMatchObject({ errors: [], warnings: [] });
    },
  );

  it('is not counted, and its slot not kept, where the handler does not listen; what it does later is dropped', async () => {
    const { connect, resilience, log, events } = await startQuotes();
    const client = await connect();
    client.send('uncooperative');
    const running = await backend.reached(1);
    client.drop();
    const bulkhead = resilience.bulkhead('uncooperative');
    await until(() => bulkhead.active === 0);
    expect(bulkhead.abandoned).toBe(1);
    running.fail(new DependencyError(503));
    await until(() => bulkhead.abandoned === 0);

    expect(resilience.circuitBreaker('uncooperative').stats.total).toBe(0);
    expect(events.map(({ type }) => type)).toContain('client-gone');
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('is told nothing, and nothing is logged, of an error that its handler ends with afterwards', async () => {
    const { connect, log, events } = await startQuotes('safe');
    const client = await connect();
    client.send('failing-late');
    const running = await backend.reached(1);
    client.drop();
    await until(() => isClosed(sockets[0]));
    running.answer('done');
    await turns(50);

    expect(log).toMatchObject({ errors: [], warnings: [] });
    expect(events).toEqual([]);
  });

  it.each([
    ['always', 0],
    ['safe', 1],
  ] as const)(
    'because its handler ends the connection is one that leaves (abortOnDisconnect: %s)',
    async (setting, counted) => {
      const { connect, resilience, log } = await startQuotes(setting);
      const client = await connect();
      client.send('signing-off');
      const running = await backend.reached(1);
      await until(() => isClosed(sockets[0]));
      await turns();
      const bulkhead = resilience.bulkhead('signing-off');
      expect(bulkhead.active).toBe(counted);
      running.answer('noted');
      await until(() => bulkhead.active + bulkhead.abandoned === 0);

      expect(running.signal?.aborted).toBe(setting === 'always');
      expect(resilience.circuitBreaker('signing-off').stats.total).toBe(counted);
      expect(log).toMatchObject({ errors: [], warnings: [] });
    },
  );

  it.each(['following', 'following-off'])(
    'ends a stream that its handler comes to open when it has left: %s',
    async (event) => {
      const { connect, resilience, log, events } = await startQuotes('safe');
      const client = await connect();
      client.send(event);
      if (event === 'following') await backend.reached(1);
      client.drop();
      await until(() => isClosed(sockets[0]));
      await turns();
      backend.calls[0]?.answer('subscribed');
      const bulkhead = resilience.bulkhead('following');
      await until(() => bulkhead.active + bulkhead.abandoned === 0);
      await turns();

      expect(followers).toBe(0);
      expect(log).toMatchObject({ errors: [], warnings: [] });
      expect(events).toMatchObject([{ type: 'client-gone' }]);
    },
  );

  it.each(['always', 'never'] as const)(
    'at any moment of a thousand messages leaves nothing behind (abortOnDisconnect: %s)',
    async (setting) => {
      const app = await startQuotes(setting);
      const clients = await Promise.all(Array.from({ length: 20 }, () => app.connect()));
      await until(() => sockets.length === 20);
      const idle = sockets[0]?.listenerCount(closing);
      const idleTimers = timers();
      clients.filter(isLeaving).forEach((client) => client.send('held'));
      await backend.reached(10);
      backend.script((call, nth) => {
        if (nth % 5 === 0) call.fail(new DependencyError(503));
        else if (nth % 5 !== 1) setTimeout(() => call.answer({ event: 'quoted', data: nth }), nth % 30);
      });
      await sendAndLeave(clients);
      await until(() => sockets.filter(isClosed).length === 10);

      await settled(app);
      answerAll();
      await until(() => app.resilience.bulkhead('mixed').abandoned === 0);
      const staying = sockets.filter((socket) => !isClosed(socket));
      expect(staying.map((socket) => socket.listenerCount(closing))).toEqual(Array(10).fill(idle));
      const ended = backend.calls.slice(0, 10).map(({ signal }) => signal?.reason instanceof ClientDisconnectedError);
      expect(ended).toEqual(Array(10).fill(setting === 'always'));
      expect(app.resilience.bulkhead('mixed')).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
      expect(timers()).toBeLessThanOrEqual(idleTimers);
      expect(await signalsKept(app)).toBeLessThan(FEW);
    },
  );

  /** Of those that handlers were given, how many are still held when nobody outside holds them. */
  async function signalsKept({ events }: GatewayApplication): Promise<number> {
    const signals = backend.calls
      .splice(0)
      .flatMap(({ signal }) => (signal === undefined ? [] : [new WeakRef(signal)]));
    expect(signals.length).toBeGreaterThan(100);
    // Errors know the frames that they come from.
    events.length = 0;
    await turns(50);
    globalThis.gc?.();
    return signals.filter((signal) => signal.deref() !== undefined).length;
  }

  /** Each leaves after another number of its messages. */
  async function sendAndLeave(clients: readonly GatewayClient[]): Promise<void> {
    for (let round = 1; round <= 1_000 / clients.length; round++) {
      for (const [at, client] of clients.entries()) {
        const lastRound = isLeaving(client, at) ? 2 * at : Infinity;
        if (round <= lastRound) client.send('mixed', round * clients.length + at);
        if (round === lastRound) client.drop();
      }
      await turns(3);
    }
  }

  function answerAll(): void {
    for (const call of backend.calls) if (call.state === 'running') call.answer('late');
  }

  async function settled({ resilience }: GatewayApplication): Promise<void> {
    const bulkhead = resilience.bulkhead('mixed');
    while (bulkhead.active + bulkhead.queued > 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      answerAll();
    }
    await turns(50);
  }
});

/** Whatever ran last may still be on a stack, or in a register; what is leaked are hundreds. */
const FEW = 10;

/** Every other one. */
const isLeaving = (_client: GatewayClient, at: number): boolean => at % 2 === 1;

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

/** As either kind of socket shows it. */
function isClosed(socket: EventEmitter | undefined): boolean {
  const { readyState, connected } = socket as { readyState?: number; connected?: boolean };

  return readyState === 3 || connected === false;
}

afterEach(() => vi.useRealTimers());
