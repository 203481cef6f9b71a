import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { ApolloFederationDriver } from '@nestjs/apollo';
import { Injectable } from '@nestjs/common';
import { Directive, Field, ID, ObjectType, Query, ResolveReference, Resolver } from '@nestjs/graphql';
import { CircuitBreaker, ClientDisconnectedError, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, until } from '../fixtures/backend.js';
import { send } from '../fixtures/client.js';
import { onApolloServers } from '../fixtures/graphql.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@ObjectType()
@Directive('@key(fields: "id")')
class Parcel {
  @Field(() => ID)
  id!: string;
}

@Injectable()
@Resolver(() => Parcel)
@CircuitBreaker('of-the-class')
class ParcelsResolver {
  @Query(() => Parcel, { nullable: true })
  parcel() {
    return { id: '1' };
  }

  @ResolveReference()
  @Timeout('1s')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  byReference(_reference: { id: string }, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

const QUERY = `{ _entities(representations: [{ __typename: "Parcel", id: "7" }, { __typename: "Parcel", id: "8" }]) {
  ... on Parcel { id } } }`;

onApolloServers('A reference that another graph makes to an entity', (start) => {
  const startParcels = () =>
    start({
      providers: [ParcelsResolver],
      graphql: {
        driver: ApolloFederationDriver,
        autoSchemaFile: { federation: 2 },
        plugins: [ApolloServerPluginInlineTraceDisabled()],
      },
    });

  it('is an entrypoint with its own decorators: a query is repeated', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(new Error('down')) : call.answer({ id: String(nth) })));
    const app = await startParcels();

    expect((await app.query(QUERY)).body).toEqual({ data: { _entities: [{ id: '3' }, { id: '2' }] } });
    expect(app.events.map(({ type }) => type)).toEqual(['retry']);
    expect(app.resilience.circuitBreakers().map(({ stats }) => stats.total)).toEqual([0]);
  });

  it('fails for itself', async () => {
    backend.script((call, nth) => nth === 1 && call.answer({ id: '7' }));
    const app = await startParcels();
    freezeTime();
    const answering = app.query(QUERY);
    await backend.reached(2);
    await vi.advanceTimersByTimeAsync(2_001);
    const { body, status } = await answering;

    expect(status).toBe(200);
    expect(body.data).toEqual({ _entities: [{ id: '7' }, null] });
    expect(body.errors).toHaveLength(1);
    expect(body.errors?.[0]).toMatchObject({
      message: 'The operation timed out',
      extensions: { code: 'TIMEOUT', httpStatus: 504 },
    });
  });

  it('ends with its client', async () => {
    const app = await startParcels();
    const request = send(`${app.url}/graphql`, { method: 'POST', body: { query: QUERY } });
    await backend.reached(2);

    request.destroy();

    await until(() => backend.states.every((state) => state === 'cancelled'));
    expect(backend.calls[0]?.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(app.log.errors).toEqual([]);
  });
});
