import { Injectable, type PipeTransform } from '@nestjs/common';
import { Args, Query, Resolver, Subscription } from '@nestjs/graphql';
import { CircuitBreaker, CircuitOpenError, Fallback, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, turns, until } from '../fixtures/backend.js';
import { onEachServer } from '../fixtures/graphql.js';
import { extensionsOf, subscribe, subscribing, valuesOf } from '../fixtures/subscriptions.js';

let backend: Backend;
let closed: number;
let opened: string[];
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
  closed = 0;
  opened = [];
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

const lookUp: PipeTransform = {
  async transform(value: unknown) {
    await backend.call();
    return value;
  },
};

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
  ofOrder(@Args('order', lookUp) order: string) {
    opened.push(order);
    return events('ofOrder', 'packed');
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
  ofItsClass(@Signal() signal: AbortSignal | undefined) {
    return events('ofItsClass', typeof signal);
  }

  @Subscription(() => String)
  undecorated(): AsyncIterable<unknown> {
    throw new CircuitOpenError('secret', 5_000);
  }
}

onEachServer('A GraphQL subscription', (start, server) => {
  const startParcels = () => subscribing(start, server)([ParcelsResolver]);

  it('is limited while its stream is opened', async () => {
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

  it('whose pipe ends too late opens none', async () => {
    const app = await startParcels();
    freezeTime();
    const { over } = subscribe(app, 'subscription { ofOrder(order: "1") }');
    const lookup = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    lookup.answer('found');
    await turns();

    expect(opened).toEqual([]);
    expect(closed).toBe(0);
    expect(app.log.errors).toEqual([]);
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
