// #region repricing
import { Injectable, Logger } from '@nestjs/common';
import { CircuitOpenError, ResilienceService, type ResiliencePolicy } from '@nestjs/resilience';
import { subtotal, type Order } from '../orders/order.js';
import { OrdersService } from '../orders/orders.service.js';
import { CarrierClient } from './carrier.client.js';

@Injectable()
export class RepricingService {
  private readonly logger = new Logger(RepricingService.name);
  private readonly resiliencePolicy: ResiliencePolicy;

  constructor(
    resilience: ResilienceService,
    private readonly ordersService: OrdersService,
    private readonly carrierClient: CarrierClient,
  ) {
    this.resiliencePolicy = resilience.preset('carrier');
  }

  /** Brings the shipping part of every pending order's total up to date; gives the number of orders it reached. */
  async repricePendingOrders(): Promise<number> {
    const orders = await this.ordersService.findAll();
    const pending = orders.filter(({ status }) => status === 'pending');
    let repriced = 0;

    for (const order of pending) {
      try {
        await this.reprice(order);
        repriced++;
      } catch (error) {
        if (error instanceof CircuitOpenError) {
          this.logger.warn(`The carrier is unavailable, stopping after ${repriced} of ${pending.length} orders`);
          break;
        }
        this.logger.error(`Could not reprice order ${order.id}`, error instanceof Error ? error.stack : error);
      }
    }
    return repriced;
  }

  private async reprice(order: Order): Promise<void> {
    const quotes = await this.resiliencePolicy.execute(({ signal }) => this.carrierClient.getQuotes(order, signal), {
      source: 'RepricingService.repricePendingOrders',
    });
    const shipping = Math.min(...quotes.map(({ price }) => price));
    await this.ordersService.update(order.id, { total: subtotal(order) + shipping });
  }
}
// #endregion
