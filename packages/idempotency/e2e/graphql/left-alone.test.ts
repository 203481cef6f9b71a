import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { ApolloFederationDriver } from '@nestjs/apollo';
import {
  Args,
  Directive,
  Field,
  ID,
  Int,
  Mutation,
  ObjectType,
  Query,
  ResolveReference,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import { createClient } from 'graphql-ws';
import { beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Idempotent } from '../../src/index.js';
import { onApolloServers, onEachServer } from '../fixtures/graphql.js';

let runs = 0;

beforeEach(() => {
  runs = 0;
});

@Resolver()
class Ticks {
  @Query(() => Int)
  count(): number {
    return runs;
  }

  @Mutation(() => Int)
  @Idempotent()
  tick(@Args('idempotencyKey', { nullable: true }) _key?: string): number {
    runs += 1;
    return runs;
  }

  @Subscription(() => Int, { resolve: (value: number) => value })
  @Idempotent()
  async *ticks(): AsyncGenerator<number> {
    runs += 1;
    yield await Promise.resolve(1);
    yield 2;
  }
}

@ObjectType()
@Directive('@key(fields: "id")')
class Parcel {
  @Field(() => ID)
  declare id: string;
}

@Resolver(() => Parcel)
class Parcels {
  @Query(() => Parcel, { nullable: true })
  parcel(): Parcel {
    return { id: '1' };
  }

  @ResolveReference()
  @Idempotent()
  byReference({ id }: { id: string }): Parcel {
    runs += 1;
    return { id };
  }
}

onEachServer('Over WebSockets', (start, server) => {
  const graphql = server.startsWith('Apollo')
    ? { subscriptions: { 'graphql-ws': true } }
    : { subscription: { fullWsTransport: true } };

  /** One operation after another on one connection, which was asked for with a key. */
  async function send(url: string, queries: readonly string[]): Promise<unknown[]> {
    class KeyedSocket extends WebSocket {
      constructor(address: string, protocols: string) {
        super(address, protocols, { headers: { 'idempotency-key': 'of the handshake' } });
      }
    }
    const client = createClient({ url: url.replace('http', 'ws'), webSocketImpl: KeyedSocket, retryAttempts: 0 });
    const values: unknown[] = [];
    for (const query of queries) {
      for await (const { data } of client.iterate({ query })) values.push(...Object.values(data ?? {}));
    }
    await client.dispose();
    return values;
  }

  it('a subscription is a stream of events, and has no key', async () => {
    const { url, log } = await start({ providers: [Ticks], graphql });

    expect(await send(url, ['subscription { ticks }', 'subscription { ticks }'])).toEqual([1, 2, 1, 2]);
    expect(runs).toBe(2);
    expect(log.own).toEqual([expect.stringContaining('Ticks.ticks() is @Idempotent() without effect: a stream')]);
  });

  it('a mutation has the key of its argument, and never that of the handshake', async () => {
    const { url } = await start({ providers: [Ticks], graphql });
    const keyed = 'mutation { tick(idempotencyKey: "k") }';

    expect(await send(url, ['mutation { tick }', 'mutation { tick }', keyed, keyed])).toEqual([1, 2, 3, 3]);
  });
});

onApolloServers('A reference that another graph makes to an entity', (start) => {
  it('is looked up each time, which is warned of once', async () => {
    const { query, log } = await start({
      providers: [Parcels],
      graphql: {
        driver: ApolloFederationDriver,
        autoSchemaFile: { federation: 2 },
        plugins: [ApolloServerPluginInlineTraceDisabled()],
        fieldResolverEnhancers: ['interceptors'],
      },
    });
    const both = `{ _entities(representations: [{ __typename: "Parcel", id: "7" }, { __typename: "Parcel", id: "8" }]) { ... on Parcel { id } } }`;
    for (let n = 0; n < 2; n++) {
      expect(await query(both, 'k')).toEqual({ data: { _entities: [{ id: '7' }, { id: '8' }] } });
    }

    expect(runs).toBe(4);
    expect(log.own).toEqual([expect.stringContaining('a reference is looked up for others')]);
  });
});
