import { Field, Int, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { fanOut, optional, ResilienceModule, type ResilienceModuleOptions } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { Idempotent, type IdempotencyModuleOptions } from '../../src/index.js';
import { onEachServer, type GraphqlApplication, type GraphqlBody, type StartGraphql } from '../fixtures/graphql.js';

let runs: number;
let areThere: boolean;
beforeEach(() => {
  runs = 0;
  areThere = false;
});

@ObjectType()
class Booking {
  @Field(() => Int)
  declare number: number;

  @Field(() => Int, { nullable: true })
  declare quote?: number | null;

  @Field(() => [String])
  declare similar: string[];
}

function booking() {
  runs += 1;
  const number = runs;
  const part = <T>(value: T) => (areThere ? Promise.resolve(value) : Promise.reject(new Error('down')));

  return fanOut({
    number: optional(() => number, { timeout: '1s', fallback: 0 }),
    quote: optional(() => part(7), { timeout: '1s', fallback: null }),
    similar: optional(() => part(['8']), { timeout: '1s', fallback: [] as string[] }),
  });
}

@Resolver()
@Idempotent()
class Bookings {
  @Query(() => Int)
  count(): number {
    return runs;
  }

  @Mutation(() => Booking)
  book() {
    return booking();
  }

  @Mutation(() => Booking)
  reserve() {
    return booking();
  }
}

interface Options {
  readonly resilience?: ResilienceModuleOptions;
  readonly options?: IdempotencyModuleOptions;
}

function startBookings(start: StartGraphql, { resilience = {}, options = {} }: Options = {}) {
  return start({ providers: [Bookings], imports: [ResilienceModule.forRoot(resilience)], options });
}

interface Answer {
  readonly body: GraphqlBody;
  readonly headers: Headers;
}

async function ask({ post }: GraphqlApplication, query: string, key = 'k'): Promise<Answer> {
  const response = await post({ query }, { 'idempotency-key': key });

  return { body: (await response.json()) as GraphqlBody, headers: response.headers };
}

const marksOf = ({ headers }: Answer): unknown =>
  ['x-degraded', 'cache-control', 'etag', 'server-timing'].map((name) => headers.get(name));

const MISSING = /^quote=upstream_error;\d+, similar=upstream_error;\d+$/;
const BOOK = 'mutation { book { number quote } }';

onEachServer('Over GraphQL, the replay of an answer in which something is missing', (start) => {
  it('has the marks of the first one', async () => {
    const app = await startBookings(start);
    const first = await ask(app, BOOK);
    const again = await ask(app, BOOK);

    expect(marksOf(first)).toEqual([expect.stringMatching(MISSING), 'no-store', null, null]);
    expect(marksOf(again)).toEqual(marksOf(first));
    expect(again.body.data).toEqual({ book: { number: 1, quote: null } });
    expect(runs).toBe(1);
  });

  it('has them under the name and with the value that the application has chosen', async () => {
    const app = await startBookings(start, {
      resilience: { degraded: { header: 'X-Missing', cacheControl: 'private, max-age=5' } },
    });
    const first = await ask(app, BOOK);
    const again = await ask(app, BOOK);

    expect(first.headers.get('x-missing')).toMatch(MISSING);
    expect(again.headers.get('x-missing')).toBe(first.headers.get('x-missing'));
    expect(marksOf(again)).toEqual([null, 'private, max-age=5', null, null]);
  });

  it('says of a section whose fallback is a value in its headers alone that it is missing', async () => {
    const app = await startBookings(start);
    const first = await ask(app, 'mutation { book { similar } }');
    const again = await ask(app, 'mutation { book { similar } }');

    expect(first.body.errors).toMatchObject([{ path: ['book', 'similar'] }]);
    expect(again.body).toEqual({ data: { book: { similar: [] } } });
    expect(marksOf(again)).toEqual(marksOf(first));
  });

  it('tells no times, since none of the sections has run for it', async () => {
    const app = await startBookings(start, { resilience: { degraded: { serverTiming: true } } });
    await ask(app, BOOK);
    const again = await ask(app, BOOK);

    expect(marksOf(again)).toEqual([expect.stringMatching(MISSING), 'no-store', null, null]);
  });

  it('shares the marks of its answer with a field beside it, which runs', async () => {
    const app = await startBookings(start);
    await ask(app, BOOK);
    const both = await ask(app, 'mutation { book { number } reserve { number } }');
    const again = await ask(app, 'mutation { reserve { number } book { number } }');

    const twice = /^(?:quote=upstream_error;\d+, similar=upstream_error;\d+(?:, (?!$)|$)){2}/;
    expect(both.body.data).toEqual({ book: { number: 1 }, reserve: { number: 2 } });
    expect(marksOf(both)).toEqual([expect.stringMatching(twice), 'no-store', null, null]);
    expect(again.body.data).toEqual({ book: { number: 1 }, reserve: { number: 2 } });
    expect(marksOf(again)).toEqual([expect.stringMatching(twice), 'no-store', null, null]);
    expect(runs).toBe(2);
  });

  it('has none where nothing is missing', async () => {
    areThere = true;
    const app = await startBookings(start);
    const first = await ask(app, BOOK);
    const again = await ask(app, BOOK);

    expect(again.body).toEqual({ data: { book: { number: 1, quote: 7 } } });
    expect([first.headers.get('x-degraded'), again.headers.get('x-degraded')]).toEqual([null, null]);
    expect(again.headers.get('cache-control')).toBe(first.headers.get('cache-control'));
  });

  it('is none with storePartial: false, which frees the key', async () => {
    const app = await startBookings(start, { options: { storePartial: false } });
    await ask(app, BOOK);
    expect(app.events.at(-1)).toMatchObject({ type: 'released', reason: 'outcome' });
    areThere = true;
    await ask(app, BOOK);
    const third = await ask(app, BOOK);

    expect(third.body).toEqual({ data: { book: { number: 2, quote: 7 } } });
    expect(runs).toBe(2);
  });
});
