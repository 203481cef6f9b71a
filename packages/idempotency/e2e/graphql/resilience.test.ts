import { Field, Int, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { CircuitBreaker, fanOut, optional, ResilienceModule, Timeout, type PartialResponse } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { Idempotent } from '../../src/index.js';
import { onEachServer } from '../fixtures/graphql.js';

let runs = 0;

beforeEach(() => {
  runs = 0;
});

@ObjectType()
class Booking {
  @Field(() => Int)
  declare number: number;

  @Field(() => Int, { nullable: true })
  declare quote?: number | null;
}

@Resolver()
@Idempotent()
class Bookings {
  @Query(() => Int)
  count(): number {
    return runs;
  }

  @Mutation(() => Int)
  @CircuitBreaker({ minimumCalls: 1 })
  guarded(): number {
    runs += 1;
    throw new Error('broken');
  }

  @Mutation(() => Int)
  @Timeout(20)
  hanging(): Promise<number> {
    runs += 1;
    return new Promise(() => {});
  }

  @Mutation(() => Booking)
  partial(): Promise<PartialResponse<{ number: number; quote: number | null }>> {
    runs += 1;
    const number = runs;
    return fanOut({
      number: optional(() => number, { timeout: '1s', fallback: 0 }),
      quote: optional(() => Promise.reject(new Error('carrier')), { timeout: '1s', fallback: null }),
    }) as never;
  }
}

const imports = [ResilienceModule.forRoot({})];
/** Where an error stands in the text of a query, and where it came from, is of the call. */
const REMARKS = new Set(['locations', 'stacktrace']);
const told = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (name, value: unknown) => (REMARKS.has(name) ? undefined : value)));

onEachServer('With resilience behind it, a mutation with a key', (start) => {
  it.each([
    ['an open breaker refuses', 'guarded', 1, 'CIRCUIT_OPEN'],
    ['a timeout ends', 'hanging', 3, 'TIMEOUT'],
  ])('gets its key back when %s it', async (_what, name, expected, code) => {
    const { query, events } = await start({ providers: [Bookings], imports });
    await query(`mutation { ${name} }`, 'k');
    for (let n = 0; n < 2; n++) {
      expect((await query(`mutation { ${name} }`, 'k')).errors?.[0]?.extensions).toMatchObject({ code });
    }

    expect(runs).toBe(expected);
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(3);
  });

  it('gets the same partial answer again, with its marks', async () => {
    const { query } = await start({ providers: [Bookings], imports });
    const first = await query('mutation { partial { number quote } }', 'k');

    expect(first.errors).toEqual([expect.objectContaining({ path: ['partial', 'quote'] })]);
    expect(told(await query('mutation { partial { number quote } }', 'k'))).toEqual(told(first));
    expect(runs).toBe(1);
  });
});
