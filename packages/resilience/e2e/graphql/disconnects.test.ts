import { Agent, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Mutation, Query, Resolver } from '@nestjs/graphql';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  Fallback,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, type Application } from '../fixtures/application.js';
import { Backend, turns, until } from '../fixtures/backend.js';
import { send } from '../fixtures/client.js';
import { onEachServer, type GraphqlApplication } from '../fixtures/graphql.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Injectable()
@Resolver()
class QuotesResolver {
  @Query(() => String, { nullable: true })
  @Timeout('1m')
  @Retry({ attempts: 3, backoff: { delay: 10 } })
  @CircuitBreaker({ name: 'all', minimumCalls: 1 })
  @Bulkhead({ name: 'all', maxConcurrent: 5 })
  @Fallback(() => 'flat')
  quotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Query(() => String, { nullable: true })
  @Bulkhead({ name: 'deaf', maxConcurrent: 5 })
  deaf() {
    return backend.call();
  }

  @Query(() => String, { nullable: true })
  plain() {
    return backend.call();
  }

  @Mutation(() => String, { nullable: true })
  @Retry({ attempts: 2, idempotent: true })
  book(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

onEachServer('A client that leaves its GraphQL request', (start) => {
  const startQuotes = (options: ResilienceModuleOptions = {}) => start({ providers: [QuotesResolver], options });
  const post = (app: GraphqlApplication, query: string) =>
    send(`${app.url}/graphql`, { method: 'POST', body: { query } });
  /** Without the count of handlers that have not ended in the very moment when their client left. */
  const typesOf = ({ events }: Application) => events.map(({ type }) => type).filter((type) => type !== 'abandoned');

  it('ends the attempts of all fields of its query, which is nobody’s failure', async () => {
    const app = await startQuotes();
    freezeTime();
    const request = post(app, '{ a: quotes b: quotes }');
    await backend.reached(2);
    expect(app.resilience.bulkhead('all').active).toBe(2);

    request.destroy();
    await until(() => backend.states.every((state) => state === 'cancelled'));
    await turns();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(2);
    expect(backend.calls[0]?.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(typesOf(app)).toEqual(['client-gone', 'client-gone']);
    expect(app.resilience.bulkhead('all')).toMatchObject({ active: 0, abandoned: 0 });
    expect(app.resilience.circuitBreaker('all').stats.total).toBe(0);
    expect(app.log).toMatchObject({ errors: [], warnings: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends no mutation, whose work may be wanted all the same', async () => {
    const app = await startQuotes();
    const request = post(app, 'mutation { book }');
    const running = await backend.reached(1);

    request.destroy();
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(app.events).toEqual([]);
    expect(app.log.errors).toEqual([]);
  });

  it('ends a mutation with abortOnDisconnect: always', async () => {
    const app = await startQuotes({ abortOnDisconnect: 'always' });
    const request = post(app, 'mutation { book }');
    const running = await backend.reached(1);

    request.destroy();

    await until(() => running.state === 'cancelled');
    await turns();
    expect(app.log.errors).toEqual([]);
  });

  it.each(['deaf', 'plain'])('ends nothing with abortOnDisconnect: never, or without a plan: %s', async (field) => {
    const app = await startQuotes(field === 'plain' ? {} : { abortOnDisconnect: 'never' });
    const request = post(app, `{ ${field} }`);
    const running = await backend.reached(1);

    request.destroy();
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(app.events).toEqual([]);
  });

  it('leaves no listener on a connection that is kept', async () => {
    const app = await startQuotes();
    const sockets: Socket[] = [];
    (app.app.getHttpServer() as Server).on('connection', (socket: Socket) => sockets.push(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    beforeClosing(() => agent.destroy());
    const counts: number[] = [];
    for (let nth = 1; nth <= 10; nth++) {
      const answering = app.query('{ deaf other: deaf }', { agent });
      await backend.reached(2 * nth);
      counts.push(sockets[0]?.listenerCount('close') ?? -1);
      for (const call of backend.calls.slice(-2)) call.answer('fine');
      expect((await answering).body).toEqual({ data: { deaf: 'fine', other: 'fine' } });
    }

    expect(sockets).toHaveLength(1);
    expect(new Set(counts).size).toBe(1);
    expect(sockets[0]?.listenerCount('close')).toBeLessThan(counts[0] as number);
    expect(app.events).toEqual([]);
  });
});

onEachServer('A deadline that a GraphQL client sets', (start) => {
  const startQuotes = () =>
    start({ providers: [QuotesResolver], options: { deadlineHeaders: ['x-request-timeout-ms'] } });

  it('ends the attempt of each field', async () => {
    const app = await startQuotes();
    freezeTime();
    const answering = app.query('{ deaf }', { headers: { 'x-request-timeout-ms': '100' } });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    const { body } = await answering;

    expect(body.data).toEqual({ deaf: null });
    expect(body.errors?.[0]?.extensions).toEqual({ code: 'DEADLINE_EXCEEDED', httpStatus: 504 });
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'deadline', budgetMs: 100 }));
  });
});
