// #region shipping-resolver
import { Args, Field, Float, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { Resilience, Signal, Timeout } from '@nestjs/resilience';
import type { ShippingQuote } from './carrier.client.js';
import { ShippingService } from './shipping.service.js';

@ObjectType('ShippingQuote')
export class ShippingQuoteModel implements ShippingQuote {
  @Field() service!: string;
  @Field(() => Float) price!: number;
  @Field(() => Int) estimatedDays!: number;
}

@Resolver(() => ShippingQuoteModel)
export class ShippingResolver {
  constructor(private readonly shippingService: ShippingService) {}

  @Query(() => [ShippingQuoteModel], { nullable: true })
  @Resilience('carrier')
  @Timeout('1.5s')
  shippingQuotes(@Args('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<ShippingQuote[]> {
    return this.shippingService.getQuotes(orderId, signal);
  }
}
// #endregion
