import { Controller, Get } from '@nestjs/common';
import { ResilienceModule, Retry, Timeout } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scriptCarrier } from './carrier.js';
import { BudgetReport, getQuotes, getQuotesOnce } from './layers.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

describe('the page on layers shows', () => {
  it('three layers of three attempts that make 27 calls, and one that makes 3', async () => {
    const struck = scriptCarrier([{ fail: 503 }]);
    const quotes = getQuotes('1001').catch(String);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await quotes).toContain('503');
    expect(struck.calls).toHaveLength(27);

    const spared = scriptCarrier([{ fail: 503 }]);
    const once = getQuotesOnce('1001').catch(String);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await once).toContain('503');
    expect(spared.calls).toHaveLength(3);
  });

  it('the arithmetic of an entrypoint', async () => {
    const lines: string[] = [];
    const logger = { log: (line: string) => void lines.push(line), warn: () => {}, error: () => {} };
    const moduleRef = await Test.createTestingModule({
      imports: [ResilienceModule.forRoot()],
      controllers: [ShippingController],
      providers: [BudgetReport],
    }).compile();
    const app = await moduleRef.createNestApplication({ logger }).init();
    await app.close();

    expect(lines).toContain('ShippingController.getQuotes: 2 x 1500 ms + 200 ms of backoff = 3200 ms');
  });
});

@Controller('shipping')
class ShippingController {
  @Get('quotes')
  @Timeout('1.5s')
  @Retry(2)
  getQuotes(): void {}
}
