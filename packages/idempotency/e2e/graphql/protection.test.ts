import { BadRequestException, HttpException } from '@nestjs/common';
import {
  Args,
  Field,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { GraphQLError } from 'graphql';
import { Observable } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { Idempotent } from '../../src/index.js';
import { onEachServer } from '../fixtures/graphql.js';

let runs: string[] = [];

beforeEach(() => {
  runs = [];
});

/** Notes that it ran, and for what. */
function run<T>(name: string, value: T): T {
  runs.push(name);

  return value;
}

@ObjectType()
class Charge {
  @Field(() => Int)
  declare amount: number;

  @Field(() => Int)
  declare number: number;

  @Field()
  declare at: Date;
}

function charge(amount: number): Charge {
  return run(`charge ${amount}`, { amount, number: runs.length + 1, at: new Date(1_000) });
}

@InputType()
class Order {
  @Field()
  declare id: string;

  @Field(() => Int)
  declare amount: number;
}

@ObjectType()
class Account {
  @Field(() => Int)
  declare id: number;

  @Field(() => [Account])
  declare children: Account[];
}

@Resolver(() => Charge)
@Idempotent()
class Charges {
  @Query(() => Int)
  balance(): number {
    return run('balance', runs.length);
  }

  @Mutation(() => Charge)
  charge(
    @Args('amount', { type: () => Int }) amount: number,
    @Args('idempotencyKey', { nullable: true }) _key?: string,
  ): Charge {
    return charge(amount);
  }

  @Mutation(() => Charge)
  refund(@Args('amount', { type: () => Int }) amount: number): Charge {
    return charge(-amount);
  }

  @Mutation(() => Charge)
  @Idempotent({ required: true, retryAfter: '2.5s' })
  required(): Charge {
    return charge(1);
  }

  @Mutation(() => Charge)
  @Idempotent(false)
  free(): Charge {
    return charge(2);
  }

  @Mutation(() => Charge)
  @Idempotent({ keyFrom: { graphql: { arg: 'input.id' } } })
  named(@Args('input', { type: () => Order }) { amount }: Order): Charge {
    return charge(amount);
  }

  @Mutation(() => Account)
  @Idempotent(false)
  unprotected(@Args('id', { type: () => Int }) id: number): Account {
    return { id, children: [] };
  }

  @Mutation(() => Account)
  account(@Args('id', { type: () => Int }) id: number): Account {
    return run(`account ${id}`, {
      id,
      children: [
        { id: 10 * id, children: [] },
        { id: 10 * id + 1, children: [] },
      ],
    });
  }
}

@Resolver(() => Account)
class Accounts {
  @ResolveField(() => Charge)
  @Idempotent()
  debit(@Parent() account: Account, @Args('amount', { type: () => Int }) amount: number): Charge {
    return run(`debit ${account.id}`, charge(amount));
  }
}

@Resolver()
class Quotes {
  @Query(() => Int, { name: 'refund' })
  @Idempotent()
  quote(@Args('amount', { type: () => Int }) _amount: number): number {
    return run('quote', runs.length);
  }
}

const AMOUNT = '{ amount number at }';

onEachServer('A mutation with a key', (start) => {
  it('runs once: repeated, whatever the query calls it, it answers the same', async () => {
    const { query, events } = await start({ providers: [Charges] });

    const first = await query(`mutation { charge(amount: 1) ${AMOUNT} }`, 'k');
    const again = await query(`mutation { other: charge(amount: 1) ${AMOUNT} }`, '"k"');

    expect(first.data).toEqual({ charge: { amount: 1, number: 1, at: '1970-01-01T00:00:01.000Z' } });
    expect(again).toEqual({ data: { other: first.data?.['charge'] } });
    expect(runs).toEqual(['charge 1']);
    expect(events.map(({ type, context, handler }) => [type, context, handler])).toEqual([
      ['executed', 'graphql', 'Charges.charge'],
      ['stored', 'graphql', 'Charges.charge'],
      ['replayed', 'graphql', 'Charges.charge'],
    ]);
    expect(events).toMatchObject([{}, { status: 200 }, { status: 200 }]);
  });

  it('finds it in its argument first, and then it is that of this field alone', async () => {
    const { query } = await start({ providers: [Charges] });
    const call = (argument: string, key: string) =>
      query(`mutation { charge(amount: 1, idempotencyKey: ${argument}) ${AMOUNT} }`, key);

    const first = await call('"argument"', 'one');
    expect(await call('"argument"', 'two')).toEqual(first);
    expect(await call('"another"', 'one')).not.toEqual(first);
    const empty = await call('""', 'one');
    expect(await call('""', 'one')).toEqual(empty);
    expect(runs).toHaveLength(3);

    const twins = await query(
      `mutation { a: charge(amount: 5, idempotencyKey: "twin") ${AMOUNT} b: charge(amount: 5, idempotencyKey: "twin") ${AMOUNT} }`,
    );
    expect(twins.data?.['b']).toEqual(twins.data?.['a']);
    expect(runs).toHaveLength(4);
  });

  it('finds it where its field says, and nowhere else', async () => {
    const { query } = await start({ providers: [Charges] });
    const call = (id: string, key: string) =>
      query(`mutation { named(input: { id: "${id}", amount: 3 }) ${AMOUNT} }`, key);

    const first = await call('7', 'one');
    expect(await call('7', 'two')).toEqual(first);
    expect((await call('8', 'one')).data?.['named']).toMatchObject({ number: 2 });
    expect(runs).toEqual(['charge 3', 'charge 3']);
  });

  it('is refused with other arguments, as an error of its field', async () => {
    const { query, post } = await start({ providers: [Charges] });
    await query(`mutation { charge(amount: 1) ${AMOUNT} }`, 'k');

    const answer = await post(
      { query: `mutation { charge(amount: 2) ${AMOUNT} refund(amount: 1) { amount } }` },
      { 'idempotency-key': 'k' },
    );
    expect(answer.status).toBe(200);
    expect(answer.headers.has('idempotent-replayed')).toBe(false);
    const { errors } = (await answer.json()) as { errors: object[] };
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('was used for another request'),
        path: ['charge'],
        extensions: expect.objectContaining({ code: 'IDEMPOTENCY_KEY_REUSED', httpStatus: 422 }),
      }),
    ]);
    expect(runs.slice(0, 1)).toEqual(['charge 1']);
    expect(runs).not.toContain('charge 2');
  });

  it('is refused without one where it is required, and with one that is none', async () => {
    const { query } = await start({ providers: [Charges] });
    const codeOf = async (key?: string) => (await query(`mutation { required { amount } }`, key)).errors?.[0];

    expect(await codeOf()).toMatchObject({ extensions: { code: 'IDEMPOTENCY_KEY_REQUIRED', httpStatus: 400 } });
    expect(await codeOf('a, b')).toMatchObject({ extensions: { code: 'IDEMPOTENCY_KEY_INVALID', httpStatus: 400 } });
    expect((await codeOf())?.extensions).not.toHaveProperty('http');
    expect(runs).toEqual([]);
  });

  it('has one record for each field, each of its twins, and each operation of a batch', async () => {
    const { query, post } = await start({ providers: [Charges] });
    const twins = `mutation { a: charge(amount: 1) ${AMOUNT} b: charge(amount: 2) ${AMOUNT} refund(amount: 1) { amount } }`;
    const first = await query(twins, 'k');
    const renamed = await query(twins.replace('a:', 'x:').replace('b:', 'y:'), 'k');
    expect(first.errors).toBeUndefined();
    expect(Object.values(renamed.data ?? {})).toEqual(Object.values(first.data ?? {}));
    expect(runs).toEqual(['charge 1', 'charge 2', 'charge -1']);

    const batch = [3, 4].map((amount) => ({
      query: `mutation ($amount: Int!) { charge(amount: $amount) ${AMOUNT} }`,
      variables: { amount },
    }));
    const send = async () => (await post(batch, { 'idempotency-key': 'batch' })).json();
    const answers = await send();
    expect(answers).toMatchObject([{ data: { charge: { amount: 3 } } }, { data: { charge: { amount: 4 } } }]);
    expect(await send()).toEqual(answers);
    expect(runs).toHaveLength(5);
  });

  it('says nothing of twins that fragments and directives leave out', async () => {
    const { query } = await start({ providers: [Charges] });
    const first = await query(
      `mutation { ... on Mutation { a: charge(amount: 1) @skip(if: true) { amount } ...F } } fragment F on Mutation { b: charge(amount: 2) ${AMOUNT} }`,
      'k',
    );
    const again = await query(`mutation { charge(amount: 2) ${AMOUNT} }`, 'k');

    expect(again.data?.['charge']).toEqual(first.data?.['b']);
    expect(runs).toEqual(['charge 2']);
  });

  it('is in use while it runs', async () => {
    let finish: () => void = () => {};
    @Resolver()
    class Slow {
      @Mutation(() => Int)
      @Idempotent({ retryAfter: '2.5s' })
      slow(): Observable<number> {
        return new Observable((subscriber) => {
          finish = () => {
            // The last value counts.
            subscriber.next(1);
            subscriber.next(2);
            subscriber.complete();
          };
        });
      }
    }
    const { query } = await start({ providers: [Charges, Slow] });
    const first = query('mutation { slow }', 'k');
    let second = await query('mutation { slow }', 'k');
    if (second.errors === undefined) second = await query('mutation { slow }', 'k');

    expect(second.errors?.[0]?.extensions).toMatchObject({
      code: 'IDEMPOTENCY_KEY_IN_USE',
      httpStatus: 409,
      retryAfter: 3,
    });
    finish();
    expect(await first).toEqual({ data: { slow: 2 } });
    expect(await query('mutation { slow }', 'k')).toEqual({ data: { slow: 2 } });
  });

  it('covers by a class its mutations only, whatever their type is called, and none that opted out', async () => {
    const { query } = await start({ providers: [Charges] });
    for (let n = 0; n < 2; n++) await query('{ balance }', 'k');
    for (let n = 0; n < 2; n++) await query('mutation { free { amount } }', 'k');

    expect(runs).toEqual(['balance', 'balance', 'charge 2', 'charge 2']);
  });

  it('is another call than a query of its name, whose handler may have keys too', async () => {
    const { query } = await start({ providers: [Charges, Quotes] });
    const first = await query('{ refund(amount: 1) }', 'k');
    expect(await query('{ refund(amount: 1) }', 'k')).toEqual(first);

    const { errors } = await query('mutation { refund(amount: 1) { amount } }', 'k');
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(runs).toEqual(['quote']);
  });

  it('tells fields of objects apart: by their place in lists, and by what stands above them', async () => {
    const { query, log } = await start({
      providers: [Charges, Accounts],
      graphql: { fieldResolverEnhancers: ['interceptors'] },
    });
    const all = `mutation { x: account(id: 1) { children { debit(amount: 1) ${AMOUNT} } } }`;
    const first = await query(all, 'k');
    expect(first.errors).toBeUndefined();
    expect(runs.filter((name) => name.startsWith('debit'))).toEqual(['debit 10', 'debit 11']);
    expect((await query(all.replace('x: ', ''), 'k')).data?.['account']).toEqual(first.data?.['x']);
    expect(runs.filter((name) => name.startsWith('debit'))).toHaveLength(2);

    const other = await query('mutation { unprotected(id: 2) { debit(amount: 1) { amount } } }', 'k2');
    const swapped = await query('mutation { unprotected(id: 3) { debit(amount: 1) { amount } } }', 'k2');
    expect(other.errors).toBeUndefined();
    expect(swapped.errors?.[0]?.path).toEqual(['unprotected', 'debit']);
    expect(swapped.errors?.[0]?.extensions).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(log.own).toEqual([]);
  });

  it('keeps scopes apart, and refuses a user without one', async () => {
    const { query, post } = await start({
      providers: [Charges],
      options: { scope: (req: { headers: Record<string, string> }) => req.headers['x-user'] },
      graphql: {
        context: (...given: { req?: object }[]) => ({
          req: Object.assign(given[0]?.req ?? given[0] ?? {}, { user: { id: 1 } }),
        }),
      },
    });
    const as = async (user: string): Promise<unknown> =>
      (
        await post({ query: `mutation { charge(amount: 1) ${AMOUNT} }` }, { 'idempotency-key': 'k', 'x-user': user })
      ).json();

    expect(await as('a')).toEqual(await as('a'));
    await as('b');
    expect(runs).toHaveLength(2);
    const nobody = await query(`mutation { charge(amount: 1) ${AMOUNT} }`, 'k');
    expect(nobody.errors?.[0]?.extensions).toMatchObject({ code: 'IDEMPOTENCY_SCOPE_MISSING', httpStatus: 500 });
  });
});

@Resolver()
class Failing {
  @Mutation(() => Int)
  @Idempotent()
  fail(@Args('how') how: string): number {
    runs.push(how);
    throw FAILURES[how]?.() ?? new Error('unknown');
  }
}

const FAILURES: Readonly<Record<string, () => Error>> = {
  'http 402': () => new HttpException({ message: 'no', reason: 7 }, 402),
  'http 400': () => new BadRequestException('bad'),
  'http 503': () => new HttpException('later', 503),
  'http 409': () => new HttpException('conflict', 409),
  'a status': () => Object.assign(new Error('teapot secret'), { status: 418 }),
  'a code': () => new GraphQLError('declined', { extensions: { code: 'DECLINED', because: 'funds' } }),
  'a status of its answer': () => new GraphQLError('down', { extensions: { code: 'DOWN', http: { status: 503 } } }),
  'a status as ours': () => new GraphQLError('open', { extensions: { code: 'CIRCUIT_OPEN', httpStatus: 503 } }),
  'no code': () => new GraphQLError('plain'),
  'an internal code': () => new GraphQLError('inner', { extensions: { code: 'INTERNAL_SERVER_ERROR' } }),
  unknown: () => new Error('broken'),
};

onEachServer('An error of a mutation with a key', (start, server) => {
  it.each(['http 402', 'http 400', 'a status', 'a code'])(
    'is kept when it says that the client is wrong: %s',
    async (how) => {
      const { query } = await start({ providers: [Failing, Charges] });
      const first = await query(`mutation { fail(how: "${how}") }`, 'k');
      const again = await query(`mutation { fail(how: "${how}") }`, 'k');

      expect(runs).toEqual([how]);
      if (how === 'a status') {
        // As Nest answers the status: nothing of the message leaves.
        expect(again.errors?.[0]?.message).toBe("I'm a Teapot");
        return;
      }
      expect(strip(again, server)).toEqual(strip(first, server));
    },
  );

  it.each([
    'http 503',
    'http 409',
    'a status of its answer',
    'a status as ours',
    'no code',
    'an internal code',
    'unknown',
  ])('gives the key back otherwise: %s', async (how) => {
    const { query } = await start({ providers: [Failing, Charges] });
    await query(`mutation { fail(how: "${how}") }`, 'k');
    await query(`mutation { fail(how: "${how}") }`, 'k');

    expect(runs).toEqual([how, how]);
  });
});

/** Where an error came from is told by stacks, which no record has. */
function strip(body: { readonly errors?: readonly object[] }, server: string): unknown {
  expect(server).toBeDefined();

  return JSON.parse(JSON.stringify(body, (name, value: unknown) => (name === 'stacktrace' ? undefined : value)));
}
