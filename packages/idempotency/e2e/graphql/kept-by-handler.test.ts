import { createUnionType, Field, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { expect, it } from 'vitest';
import { Idempotent, IdempotencyService, IdempotencyStorage } from '../../src/index.js';
import { onEachServer } from '../fixtures/graphql.js';

@ObjectType()
class Card {
  @Field()
  declare digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }
}

@ObjectType()
class Transfer {
  @Field()
  declare iban: string;
}

/** As Nest tells its members: by their classes. */
const Method = createUnionType({ name: 'Method', types: () => [Card, Transfer] as const });

@Resolver()
class Payments {
  constructor(
    private readonly keys: IdempotencyService,
    private readonly storage: IdempotencyStorage,
  ) {}

  @Query(() => String)
  hello(): string {
    return 'hello';
  }

  @Mutation(() => Method)
  @Idempotent()
  async pay(): Promise<Card> {
    const card = new Card('7777');
    await this.keys.current?.keep(this.storage.source, card);

    return card;
  }
}

onEachServer('An answer that its resolver keeps by itself', (start) => {
  it('is replayed with its type', async () => {
    const { query, events } = await start({ providers: [Payments] });
    const pay = 'mutation { pay { __typename ... on Card { digits } } }';
    const expected = { data: { pay: { __typename: 'Card', digits: '7777' } } };

    expect(await query(pay, 'k')).toEqual(expected);
    expect(await query(pay, 'k')).toEqual(expected);
    expect(events.map(({ type }) => type)).toEqual(['executed', 'stored', 'replayed']);
  });
});
