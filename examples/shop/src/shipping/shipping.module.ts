import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { OrdersModule } from '../orders/orders.module.js';
import { CarrierClient } from './carrier.client.js';
import { RepricingController } from './repricing.controller.js';
import { RepricingService } from './repricing.service.js';
import { ShippingController } from './shipping.controller.js';
import { ShippingResolver } from './shipping.resolver.js';
import { ShippingHandlers } from './shipping.handlers.js';
import { ShippingService } from './shipping.service.js';

@Module({
  imports: [
    OrdersModule,
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      playground: false,
      // Apollo shows stacks unless NODE_ENV is production or test.
      includeStacktraceInErrorResponses: false,
    }),
  ],
  controllers: [ShippingController, ShippingHandlers, RepricingController],
  providers: [CarrierClient, ShippingService, ShippingResolver, RepricingService],
})
export class ShippingModule {}
