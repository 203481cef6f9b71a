import type { INestApplication } from '@nestjs/common';
import { ResilienceService } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { subtotal } from '../src/orders/order.js';
import { OrdersService } from '../src/orders/orders.service.js';
import { CarrierClient, CarrierError } from '../src/shipping/carrier.client.js';
import { RepricingService } from '../src/shipping/repricing.service.js';

describe('Repricing pending orders', () => {
  const carrier = { getQuotes: vi.fn<CarrierClient['getQuotes']>(), createShipment: vi.fn() };
  const logger = { log: vi.fn(), warn: vi.fn(), error: vi.fn() };
  let app: INestApplication;

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(CarrierClient)
      .useValue(carrier)
      .compile();
    app = await moduleRef.createNestApplication({ logger }).init();
    carrier.getQuotes.mockResolvedValue([
      { service: 'express', price: 14.5, estimatedDays: 1 },
      { service: 'ground', price: 6.9, estimatedDays: 4 },
    ]);
  });

  afterEach(async () => {
    vi.useRealTimers();
    vi.resetAllMocks();
    await app.close();
  });

  const reprice = () => app.get(RepricingService).repricePendingOrders();
  const order = (id: string) => app.get(OrdersService).findOne(id);

  it('adds the cheapest quote to what the items cost', async () => {
    expect(await reprice()).toBe(8);

    const repriced = await order('1001');
    expect(repriced.total).toBeCloseTo(subtotal(repriced) + 6.9);
    expect(carrier.getQuotes).toHaveBeenCalledTimes(8);
  });

  it('does not add up when it runs twice', async () => {
    await reprice();
    const once = await order('1001');
    await reprice();

    expect(await order('1001')).toEqual(once);
  });

  it('leaves out an order that the carrier refuses, without asking again', async () => {
    carrier.getQuotes.mockRejectedValueOnce(new CarrierError(422));

    expect(await reprice()).toBe(7);
    expect(carrier.getQuotes).toHaveBeenCalledTimes(8);
    expect(logger.error).toHaveBeenCalledWith(
      'Could not reprice order 1001',
      expect.stringContaining('The carrier answered with status 422'),
      'RepricingService',
    );
  });

  it('asks a carrier in trouble a second time, after the backoff', async () => {
    carrier.getQuotes.mockRejectedValueOnce(new CarrierError(503));

    const repriced = reprice();
    await vi.advanceTimersByTimeAsync(200);

    expect(await repriced).toBe(8);
    expect(carrier.getQuotes).toHaveBeenCalledTimes(9);
  });

  it('stops at once while the breaker is open', async () => {
    app.get(ResilienceService).circuitBreaker('carrier').trip();

    expect(await reprice()).toBe(0);
    expect(carrier.getQuotes).not.toHaveBeenCalled();
    expect(logger.warn).toHaveBeenCalledWith(
      'The carrier is unavailable, stopping after 0 of 8 orders',
      'RepricingService',
    );
  });

  it('opens the breaker that the routes share, and stops there', async () => {
    carrier.getQuotes.mockRejectedValue(new CarrierError(500));

    const repriced = reprice();
    await vi.advanceTimersByTimeAsync(5 * 200); // five orders, each with one backoff

    expect(await repriced).toBe(0);
    expect(carrier.getQuotes).toHaveBeenCalledTimes(10);
    expect(app.get(ResilienceService).circuitBreaker('carrier').state).toBe('open');
    expect(logger.warn.mock.calls).toEqual([
      ['Circuit "carrier" went from closed to open', 'Resilience'],
      ['The carrier is unavailable, stopping after 0 of 8 orders', 'RepricingService'],
    ]);
  });
});
