import { Test } from '@nestjs/testing';
import { ResilienceModule, ResilienceService, TimeoutPolicy } from '@nestjs/resilience';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { counts, stopCounting } from './counting.js';
import { ResilienceGauges, timeouts } from './observing.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

const timeOut = async (): Promise<void> => {
  const call = new TimeoutPolicy({ name: 'carrier', timeout: 100 }).execute(() => new Promise(() => {}));
  const settled = call.catch(() => {});
  await vi.advanceTimersByTimeAsync(100);
  await settled;
};

describe('the page on observing shows', () => {
  it('a count of timeouts by policy, from a diagnostics channel', async () => {
    await timeOut();

    expect([...timeouts]).toEqual([['carrier', 1]]);
  });

  it('counts of all events, until they are stopped', async () => {
    counts.clear();
    await timeOut();
    await timeOut();
    stopCounting();
    await timeOut();

    expect([...counts]).toEqual([['timeout carrier', 2]]);
  });

  it('gauges of everything that has a state', async () => {
    const moduleRef = await Test.createTestingModule({
      imports: [
        ResilienceModule.forRoot({ presets: { carrier: { timeout: '1s', circuitBreaker: {}, bulkhead: {} } } }),
      ],
      providers: [ResilienceGauges],
    }).compile();
    const resilience = moduleRef.get(ResilienceService);
    resilience.circuitBreaker('carrier').trip();
    resilience.bulkhead('carrier');

    expect(moduleRef.get(ResilienceGauges).read()).toEqual({
      'breaker_open{name="carrier"}': 1,
      'breaker_failure_rate{name="carrier"}': 0,
      'bulkhead_active{name="carrier"}': 0,
      'bulkhead_queued{name="carrier"}': 0,
      'bulkhead_abandoned{name="carrier"}': 0,
    });
  });
});
