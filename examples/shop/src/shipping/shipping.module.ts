import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { CarrierClient } from './carrier.client.js';
import { RepricingController } from './repricing.controller.js';
import { RepricingService } from './repricing.service.js';
import { ShippingController } from './shipping.controller.js';
import { ShippingService } from './shipping.service.js';

@Module({
  imports: [OrdersModule],
  controllers: [ShippingController, RepricingController],
  providers: [CarrierClient, ShippingService, RepricingService],
})
export class ShippingModule {}
