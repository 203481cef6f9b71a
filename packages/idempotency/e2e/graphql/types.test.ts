import {
  createUnionType,
  Field,
  Int,
  InterfaceType,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { beforeEach, expect, it } from 'vitest';
import { Idempotent } from '../../src/index.js';
import { onEachServer } from '../fixtures/graphql.js';

let runs = 0;

beforeEach(() => {
  runs = 0;
});

enum Currency {
  Euro = 'EUR',
}
registerEnumType(Currency, { name: 'Currency' });

@ObjectType()
class Card {
  @Field()
  declare digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  @Field()
  get masked(): string {
    return `****${this.digits}`;
  }
}

@ObjectType()
class Transfer {
  @Field()
  declare iban: string;

  constructor(iban: string) {
    this.iban = iban;
  }

  @Field(() => [Method])
  get fallbacks(): (typeof Method)[] {
    return [new Card('7777'), new Transfer('DE2')];
  }
}

/** As Nest tells its members: by their classes. */
const Method = createUnionType({ name: 'Method', types: () => [Card, Transfer] as const });

/** As applications do it, which does not look at `__typename`. */
const Chosen = createUnionType({
  name: 'Chosen',
  types: () => [Card, Transfer] as const,
  resolveType: (value) => {
    if (value instanceof Card) return 'Card';
    if (value instanceof Transfer) return Promise.resolve('Transfer');
    throw new Error('Neither of them.');
  },
});

@InterfaceType()
abstract class Priced {
  @Field(() => Int)
  declare price: number;
}

@ObjectType({ implements: () => [Priced] })
class Ticket extends Priced {
  @Field()
  declare seat: string;
}

@ObjectType()
class Order {
  @Field(() => [[Method]])
  declare methods: (Card | Transfer)[][];

  @Field(() => Chosen, { nullable: true })
  declare chosen?: Card | Transfer | null;

  @Field(() => Priced)
  declare item: Priced;

  @Field(() => Currency)
  declare currency: Currency;

  @Field()
  declare at: Date;
}

@Resolver(() => Order)
@Idempotent()
class Orders {
  @Query(() => Int)
  count(): number {
    return runs;
  }

  @Mutation(() => Order)
  order(): Order {
    runs += 1;
    const item = Object.assign(new Ticket(), { price: runs, seat: '12A' });

    return Object.assign(new Order(), {
      methods: [[new Card('4242'), new Transfer('DE1')], []],
      chosen: new Transfer('DE3'),
      item,
      currency: Currency.Euro,
      at: new Date(2_000),
    });
  }

  @Mutation(() => Chosen)
  choose(): Card | Transfer {
    runs += 1;
    return new Card('1111');
  }

  @Mutation(() => Chosen, { nullable: true })
  nothing(): Card | null {
    runs += 1;
    return null;
  }

  @Mutation(() => [Priced])
  tickets(): Set<Priced> {
    runs += 1;
    return new Set([Object.assign(new Ticket(), { price: runs, seat: '1B' })]);
  }

  @Mutation(() => Live)
  live(): object {
    runs += 1;
    return { number: runs, later: Promise.resolve(runs) };
  }

  @Mutation(() => Live)
  lazy(): object {
    runs += 1;
    return { number: runs, later: () => runs };
  }
}

@ObjectType()
class Live {
  @Field(() => Int)
  declare number: number;

  @Field(() => Int, { nullable: true })
  declare later: number;
}

@Resolver(() => Order)
class OrderFields {
  @ResolveField(() => Int)
  runs(): number {
    return runs;
  }
}

const METHOD =
  '{ __typename ... on Card { digits masked } ... on Transfer { iban fallbacks { __typename ... on Card { masked } } } }';
const ORDER = `{ methods ${METHOD} chosen ${METHOD.replaceAll('fallbacks', 'f: fallbacks')} item { __typename price ... on Ticket { seat } } currency at runs }`;

onEachServer('What a mutation with a key gave', (start) => {
  it.each([
    ['unions, interfaces, lists, enums, dates and getters', `mutation { order ${ORDER} }`],
    ['a union whose types are told by class', `mutation { choose ${METHOD} }`],
    ['null for a union', `mutation { nothing ${METHOD} }`],
    ['a set of an interface', 'mutation { tickets { __typename price ... on Ticket { seat } } }'],
  ])('is the same when it is repeated: %s', async (_what, mutation) => {
    const { query, log } = await start({ providers: [Orders, OrderFields] });
    const first = await query(mutation, 'k');

    expect(first.errors).toBeUndefined();
    expect(await query(mutation, 'k')).toEqual(first);
    // What is not a replay is told as before.
    expect((await query(mutation, 'k2')).errors).toBeUndefined();
    expect(runs).toBe(2);
    expect(log.own).toEqual([]);
  });

  it('may be asked for other fields', async () => {
    const { query } = await start({ providers: [Orders, OrderFields] });
    await query('mutation { order { at } }', 'k');
    const again = await query(
      'mutation { order { chosen { ... on Transfer { iban } } item { ... on Ticket { seat } } } }',
      'k',
    );

    expect(again).toEqual({ data: { order: { chosen: { iban: 'DE3' }, item: { seat: '12A' } } } });
  });

  it.each(['live', 'lazy'])('is not kept when it is still to come: %s', async (name) => {
    const { query, log } = await start({ providers: [Orders, OrderFields] });
    for (let n = 0; n < 3; n++) {
      expect(await query(`mutation { ${name} { number } }`, 'k')).toMatchObject({
        data: { [name]: { number: n + 1 } },
      });
    }

    expect(log.own).toEqual([expect.stringContaining(`Orders.${name}() gave what cannot be kept`)]);
  });
});
