// #region carrier-client
import { Injectable } from '@nestjs/common';
import type { Order } from '../orders/order.js';

export interface ShippingQuote {
  readonly service: string;
  readonly price: number;
  readonly estimatedDays: number;
}

export interface Shipment {
  readonly id: string;
  readonly reference: string;
  readonly trackingNumber: string;
}

/** Its `status` tells the policies what happened: a 4xx (but 408 and 429) is our mistake, not an outage. */
export class CarrierError extends Error {
  override readonly name = 'CarrierError';

  constructor(readonly status: number) {
    super(`The carrier answered with status ${status}`);
  }
}

@Injectable()
export class CarrierClient {
  private readonly baseUrl = process.env.CARRIER_URL ?? 'https://api.carrier.example.com';

  getQuotes(order: Order, signal: AbortSignal): Promise<ShippingQuote[]> {
    return this.post('/v2/quotes', order, signal);
  }

  /** Safe to repeat: the carrier knows a booking by its reference and books it once. */
  createShipment(order: Order, signal: AbortSignal): Promise<Shipment> {
    return this.post('/v2/shipments', order, signal);
  }

  private async post<Answer>(path: string, order: Order, signal: AbortSignal): Promise<Answer> {
    const response = await fetch(this.baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reference: order.id, items: order.items }),
      signal,
    });

    if (!response.ok) {
      // An unread body would keep the connection from being used again.
      await response.body?.cancel();
      throw new CarrierError(response.status);
    }
    return (await response.json()) as Answer;
  }
}
// #endregion
