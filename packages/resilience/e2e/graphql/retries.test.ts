import { Injectable } from '@nestjs/common';
import { Field, Mutation, ObjectType, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { Resilience, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { Backend } from '../fixtures/backend.js';
import { onEachServer } from '../fixtures/graphql.js';

let backend: Backend;
const down = new Error('down');
const twice = { attempts: 2, backoff: { delay: 0 } };

beforeEach(() => {
  backend = new Backend();
  backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('fine')));
});

@ObjectType()
class Parcel {
  @Field(() => String)
  id!: string;
}

@Injectable()
@Resolver(() => Parcel)
@Timeout('1m')
class ParcelsResolver {
  @Query(() => String, { nullable: true })
  @Retry(twice)
  query(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Query(() => String, { nullable: true })
  @Resilience('carrier')
  preset() {
    return backend.call();
  }

  @Mutation(() => String, { nullable: true })
  @Resilience('carrier')
  mutation() {
    return backend.call();
  }

  @Mutation(() => String, { nullable: true })
  @Retry({ ...twice, idempotent: true })
  repeatable() {
    return backend.call();
  }

  @Query(() => Parcel)
  parcel() {
    return { id: '7' };
  }

  @Mutation(() => Parcel)
  send() {
    return { id: '7' };
  }

  @ResolveField(() => String, { nullable: true })
  @Retry(twice)
  status(@Parent() _parcel: Parcel) {
    return backend.call();
  }

  @ResolveField(() => String, { nullable: true })
  plain(@Signal() signal: AbortSignal | undefined) {
    return typeof signal;
  }
}

onEachServer('A retry over GraphQL', (start) => {
  const startParcels = () =>
    start({ providers: [ParcelsResolver], options: { presets: { carrier: { retry: twice } } } });

  it.each(['query', 'preset'])('repeats a query, also for a preset: %s', async (field) => {
    const app = await startParcels();

    expect((await app.query(`{ ${field} }`)).body).toEqual({ data: { [field]: 'fine' } });
    expect(backend.calls).toHaveLength(2);
    expect(app.events.map(({ type }) => type)).toEqual(['retry']);
  });

  it('does not repeat a mutation', async () => {
    const app = await startParcels();

    expect((await app.query('mutation { mutation }')).body.data).toEqual({ mutation: null });
    expect(backend.calls).toHaveLength(1);
  });

  it('repeats a mutation that is declared idempotent', async () => {
    const app = await startParcels();

    expect((await app.query('mutation { repeatable }')).body).toEqual({ data: { repeatable: 'fine' } });
  });

  it('repeats a field of a query, by its own decorators', async () => {
    const app = await startParcels();

    expect((await app.query('{ parcel { id status } }')).body).toEqual({
      data: { parcel: { id: '7', status: 'fine' } },
    });
  });

  it('does not repeat a field of what a mutation returns', async () => {
    const app = await startParcels();
    const { body } = await app.query('mutation { send { id status } }');

    expect(body.data).toEqual({ send: { id: '7', status: null } });
    expect(body.errors?.[0]).toMatchObject({ path: ['send', 'status'], message: 'down' });
    expect(backend.calls).toHaveLength(1);
  });

  it('and all else that stands on a class is for its queries and mutations, and not for its fields', async () => {
    const app = await startParcels();

    expect((await app.query('{ query parcel { plain } }')).body).toEqual({
      data: { query: 'fine', parcel: { plain: 'undefined' } },
    });
    expect(backend.calls[0]?.signal).toBeInstanceOf(AbortSignal);
  });

  it('is one for each alias', async () => {
    backend.script((call, nth) => (nth <= 2 ? call.fail(down) : call.answer(nth)));
    const app = await startParcels();

    expect((await app.query('{ a: query b: query }')).body.data).toEqual({ a: '3', b: '4' });
  });
});
