import type { INestApplication } from '@nestjs/common';
import { ResilienceService } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

describe('The time that the shop may take', () => {
  let app: INestApplication;

  beforeEach(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = await moduleRef.createNestApplication({ logger: false }).init();
  });

  afterEach(async () => {
    await app.close();
  });

  it.each([
    ['ShippingController.getQuotes', 2 * 1_500 + 200],
    ['ShippingController.createShipment', 2 * 2_000 + 200],
  ])('is, for %s, %i ms at most', (source, worstCaseMs) => {
    expect(app.get(ResilienceService).budgets()).toContainEqual(expect.objectContaining({ source, worstCaseMs }));
  });
});
