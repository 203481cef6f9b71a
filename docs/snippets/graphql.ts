import { fetchQuotes, type Quote } from './carrier.js';
import { ObjectType, Field, Float } from '@nestjs/graphql';

@ObjectType()
export class ShippingQuote {
  @Field(() => String)
  service!: string;

  @Field(() => Float)
  price!: number;
}

// #region resolver
import { Args, Mutation, Query, Resolver } from '@nestjs/graphql';
import { CircuitBreaker, Retry, Signal, Timeout } from '@nestjs/resilience';

@Resolver(() => ShippingQuote)
export class ShippingResolver {
  @Query(() => [ShippingQuote], { nullable: true })
  @Timeout('1.5s')
  @Retry({ attempts: 2, backoff: { delay: '100ms' } })
  @CircuitBreaker({ name: 'carrier', minimumCalls: 10 })
  shippingQuotes(@Args('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }

  @Mutation(() => [ShippingQuote], { nullable: true })
  @Timeout('1.5s')
  @Retry({ attempts: 2, idempotent: true })
  refreshQuotes(@Args('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}
// #endregion

import { fanOut, optional, required } from '@nestjs/resilience';

@ObjectType()
export class ProductPage {
  @Field(() => String)
  title!: string;

  @Field(() => [ShippingQuote], { nullable: true })
  quotes!: readonly Quote[] | null;
}

// #region partial
@Resolver(() => ProductPage)
export class ProductPageResolver {
  @Query(() => ProductPage)
  productPage(@Args('orderId') orderId: string) {
    return fanOut({
      title: required(() => 'Cat food', { name: 'catalog', timeout: '300ms' }),
      quotes: optional(({ signal }) => fetchQuotes(orderId, signal), { timeout: '300ms', fallback: null }),
    });
  }
}
// #endregion

import { Subscription } from '@nestjs/graphql';
import { ResilienceService, type ResiliencePolicy } from '@nestjs/resilience';

/** What the tests script: a broker, whose streams open late, and say something later still. */
export const broker = {
  subscribe: (_topic: string): Promise<AsyncIterable<unknown>> => new Promise(() => {}),
};

// #region subscription
@Resolver()
export class NewsResolver {
  private readonly opening: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.opening = resilience.create({ timeout: '2s', retry: { attempts: 3 }, circuitBreaker: {} }, 'news');
  }

  /** No decorators: once it is open it may be silent for hours. */
  @Subscription(() => String)
  news(): Promise<AsyncIterable<unknown>> {
    return this.opening.execute(() => broker.subscribe('news'));
  }
}
// #endregion
