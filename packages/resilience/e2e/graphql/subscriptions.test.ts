import { Injectable } from '@nestjs/common';
import { Query, Resolver, Subscription } from '@nestjs/graphql';
import {
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { createClient } from 'graphql-ws';
import { beforeEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { beforeClosing, freezeTime } from '../fixtures/application.js';
import { Backend, turns, until } from '../fixtures/backend.js';
import { onEachServer, type GraphqlApplication, type GraphqlBody } from '../fixtures/graphql.js';

let backend: Backend;
let closed: number;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
  closed = 0;
});

/** Events of a subscription, that count when they are given up. */
async function* events(field: string, ...values: string[]) {
  try {
    for (const value of values) yield { [field]: value };
  } finally {
    closed += 1;
  }
}

/** That hang after what they have. */
function endless(field: string, ...values: string[]): AsyncIterableIterator<unknown> {
  const iterator: AsyncIterableIterator<unknown> = {
    next: () => {
      const value = values.shift();
      return value === undefined ? new Promise(() => {}) : Promise.resolve({ done: false, value: { [field]: value } });
    },
    return: () => {
      closed += 1;
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]: () => iterator,
  };

  return iterator;
}

@Injectable()
@Resolver()
@Timeout('10ms')
class ParcelsResolver {
  @Query(() => String, { nullable: true })
  @Timeout('1m')
  quotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Subscription(() => String)
  @Timeout('1s')
  @CircuitBreaker({ name: 'broker', minimumCalls: 2 })
  async moved(@Signal() signal: AbortSignal) {
    await backend.call(signal);
    return events('moved', 'packed', 'sent');
  }

  @Subscription(() => String)
  @Timeout('1s')
  async quiet() {
    await backend.call();
    return endless('quiet');
  }

  @Subscription(() => String)
  @Retry({ attempts: 2, backoff: { delay: 0 }, idempotent: true })
  async reopened() {
    await backend.call();
    return events('reopened', 'sent');
  }

  @Subscription(() => String)
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  async once() {
    await backend.call();
    return events('once', 'sent');
  }

  @Subscription(() => String)
  @Fallback(() => events('replaced', 'unknown'))
  replaced(): AsyncIterable<unknown> {
    throw down;
  }

  @Subscription(() => String)
  @Bulkhead({ name: 'openings', maxConcurrent: 1 })
  async narrow() {
    await backend.call();
    return endless('narrow', 'sent');
  }

  @Subscription(() => String)
  ofItsClass(@Signal() signal: AbortSignal | undefined) {
    return events('ofItsClass', typeof signal);
  }

  @Subscription(() => String)
  undecorated(): AsyncIterable<unknown> {
    throw new CircuitOpenError('secret', 5_000);
  }
}

onEachServer('A GraphQL subscription', (start, server) => {
  const startParcels = (options: ResilienceModuleOptions = {}) =>
    start({
      providers: [ParcelsResolver],
      graphql: server.startsWith('Apollo')
        ? { subscriptions: { 'graphql-ws': true } }
        : { subscription: { fullWsTransport: true } },
      options,
    });

  /** What a client gets, until its stream ends. */
  const subscribe = ({ url }: GraphqlApplication, query: string) => {
    const client = createClient({
      url: `${url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      lazyCloseTimeout: 0,
    });
    beforeClosing(() => client.dispose());
    const results: GraphqlBody[] = [];
    const over = new Promise<void>((resolve) => {
      client.subscribe(
        { query },
        {
          next: (result) => void results.push(result as GraphqlBody),
          error: (errors) => {
            results.push({ errors: [errors].flat() as GraphqlBody['errors'] });
            resolve();
          },
          complete: resolve,
        },
      );
    });

    return { client, results, over };
  };
  const valuesOf = (results: readonly GraphqlBody[]) => results.flatMap(({ data }) => Object.values(data ?? {}));
  const extensionsOf = (results: readonly GraphqlBody[]) =>
    results.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions));

  it('is limited until its stream is open', async () => {
    const app = await startParcels();
    freezeTime();
    const { results, over } = subscribe(app, 'subscription { moved }');
    const call = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await over;

    expect(call.state).toBe('cancelled');
    expect(extensionsOf(results)).toEqual([{ code: 'TIMEOUT', httpStatus: 504 }]);
    expect(app.resilience.circuitBreaker('broker').stats.failures).toBe(1);
  });

  it('has no limit once its stream is open: before the first event nothing has failed', async () => {
    const app = await startParcels();
    freezeTime();
    const { results } = subscribe(app, 'subscription { quiet }');
    (await backend.reached(1)).answer('fine');
    await turns();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(results).toEqual([]);
    expect(app.events).toEqual([]);
  });

  it('has its events, and counts as good', async () => {
    backend.script((call) => call.answer('fine'));
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { moved }');
    await over;

    expect(valuesOf(results)).toEqual(['packed', 'sent']);
    expect(app.resilience.circuitBreaker('broker').stats).toMatchObject({ total: 1, failures: 0 });
  });

  it('is refused while the breaker of what feeds it is open', async () => {
    const app = await startParcels();
    app.resilience.circuitBreaker('broker').trip();
    const { results, over } = subscribe(app, 'subscription { moved }');
    await over;

    expect(extensionsOf(results)).toEqual([{ code: 'CIRCUIT_OPEN', httpStatus: 503, retryAfter: 30 }]);
  });

  it('is opened again where that is declared safe', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('fine')));
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { reopened }');
    await over;

    expect(valuesOf(results)).toEqual(['sent']);
    expect(backend.calls).toHaveLength(2);
  });

  it('is not opened again by itself, and boot has said so', async () => {
    backend.script((call) => call.fail(down));
    const app = await startParcels();
    const { over } = subscribe(app, 'subscription { once }');
    await over;

    expect(backend.calls).toHaveLength(1);
    expect(app.log.warnings).toContainEqual(expect.stringContaining('@Retry() on ParcelsResolver.once() is inactive'));
  });

  it('may be replaced by another stream', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { replaced }');
    await over;

    expect(valuesOf(results)).toEqual(['unknown']);
  });

  it('holds its slot until its stream is open', async () => {
    const app = await startParcels();
    const { results } = subscribe(app, 'subscription { narrow }');
    const call = await backend.reached(1);
    expect(app.resilience.bulkhead('openings').active).toBe(1);

    call.answer('fine');
    await until(() => results.length === 1);

    expect(app.resilience.bulkhead('openings').active).toBe(0);
  });

  it('has only its own decorators', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { ofItsClass }');
    await over;

    expect(valuesOf(results)).toEqual(['undefined']);
  });

  it('without any has its errors translated', async () => {
    const app = await startParcels();
    const { results, over } = subscribe(app, 'subscription { undecorated }');
    await over;

    expect(extensionsOf(results)).toEqual([{ code: 'CIRCUIT_OPEN', httpStatus: 503, retryAfter: 5 }]);
  });

  it('whose stream is there too late has it closed', async () => {
    const app = await startParcels();
    freezeTime();
    const { over } = subscribe(app, 'subscription { quiet }');
    const call = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await over;

    call.answer('late');
    await until(() => closed === 1);
  });

  it('shares its connection with queries, which end with that', async () => {
    const app = await startParcels();
    const { client } = subscribe(app, '{ quotes }');
    const call = await backend.reached(1);

    await client.dispose();

    await until(() => call.state === 'cancelled');
    expect(app.events.map(({ type }) => type)).toContain('client-gone');
  });
});
