import { ResilienceContext, ResilienceModule, ResilienceService, TimeoutPolicy } from '@nestjs/resilience';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { liveQuotes, scriptCarrier } from './carrier.js';
import { audit, CarrierGateway, QuotesService, WastefulService } from './services.js';

let moduleRef: TestingModule;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  moduleRef = await Test.createTestingModule({
    imports: [
      ResilienceModule.forRoot({ presets: { carrier: { timeout: '2s', circuitBreaker: { minimumCalls: 10 } } } }),
    ],
    providers: [QuotesService, CarrierGateway, WastefulService],
  }).compile();
});
afterEach(async () => {
  vi.useRealTimers();
  await moduleRef.close();
});

describe('the page on services shows', () => {
  it('a policy of one’s own on the breaker that the preset configures', async () => {
    scriptCarrier([{ fail: 503 }]);
    const calls = Array.from({ length: 5 }, () => moduleRef.get(QuotesService).getQuotes('1001').catch(String));
    await vi.advanceTimersByTimeAsync(200);
    await Promise.all(calls);

    expect(moduleRef.get(ResilienceService).circuitBreaker('carrier').state).toBe('open');
  });

  it('a client that asks the context for its signal', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const gateway = moduleRef.get(CarrierGateway);
    const call = new TimeoutPolicy('1s').execute(() => gateway.getQuotes('1001')).catch(String);
    await vi.advanceTimersByTimeAsync(1_000);
    await call;
    expect(carrier.calls[0]?.state).toBe('cancelled');

    scriptCarrier([{ answer: liveQuotes }]);
    expect(moduleRef.get(ResilienceContext).signal).toBeUndefined();
    expect(await gateway.getQuotes('1001')).toBe(liveQuotes);
  });

  it('work that outlives the attempt in which it was started', async () => {
    let written = false;
    const log = {
      write: () => new Promise<void>((resolve) => setTimeout(() => resolve(void (written = true)), 5_000)),
    };
    const auditing = new TimeoutPolicy('10s');
    const call = new TimeoutPolicy('1s').execute(() => audit(auditing, log)).catch(String);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await call).toContain('Timed out');
    await vi.advanceTimersByTimeAsync(4_000);

    expect(written).toBe(true);
  });

  it('that a policy made for each call learns nothing', async () => {
    const carrier = scriptCarrier([{ fail: 503 }]);
    const wasteful = moduleRef.get(WastefulService);
    for (let call = 0; call < 50; call++) await wasteful.getQuotes('1001').catch(String);

    expect(carrier.calls).toHaveLength(50);
  });
});
