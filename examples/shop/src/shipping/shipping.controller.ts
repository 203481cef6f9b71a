// #region shipping-controller
import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { Idempotent } from '@nestjs/idempotency';
import { CircuitOpenError, Fallback, Resilience, Retry, Signal, Timeout } from '@nestjs/resilience';
import type { Shipment, ShippingQuote } from './carrier.client.js';
import { ShippingService } from './shipping.service.js';

@Controller('shipping')
export class ShippingController {
  constructor(private readonly shippingService: ShippingService) {}

  @Get('quotes')
  @Resilience('carrier')
  @Timeout('1.5s')
  @Fallback('flatRateQuotes', { handleIf: (error) => error instanceof CircuitOpenError })
  getQuotes(@Query('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<ShippingQuote[]> {
    return this.shippingService.getQuotes(orderId, signal);
  }

  flatRateQuotes(): ShippingQuote[] {
    return this.shippingService.flatRateQuotes();
  }

  @Post('shipments')
  @Idempotent()
  @Resilience('carrier')
  @Retry({ idempotent: true })
  createShipment(@Body('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<Shipment> {
    return this.shippingService.createShipment(orderId, signal);
  }
}
// #endregion
