import { Injectable } from '@nestjs/common';
// #region channels
import { subscribe } from 'node:diagnostics_channel';
import type { ResilienceTimeoutEvent } from '@nestjs/resilience';

export const timeouts = new Map<string, number>();

subscribe('nestjs:resilience:timeout', (message) => {
  const { policy } = message as ResilienceTimeoutEvent;
  timeouts.set(policy, (timeouts.get(policy) ?? 0) + 1);
});
// #endregion

// #region gauges
import { ResilienceService } from '@nestjs/resilience';

@Injectable()
export class ResilienceGauges {
  constructor(private readonly resilience: ResilienceService) {}

  read(): Record<string, number> {
    const gauges: Record<string, number> = {};
    for (const { name, state, stats } of this.resilience.circuitBreakers()) {
      gauges[`breaker_open{name="${name}"}`] = state === 'open' ? 1 : 0;
      gauges[`breaker_failure_rate{name="${name}"}`] = stats.failureRate;
    }
    for (const { name, active, queued, abandoned } of this.resilience.bulkheads()) {
      gauges[`bulkhead_active{name="${name}"}`] = active;
      gauges[`bulkhead_queued{name="${name}"}`] = queued;
      gauges[`bulkhead_abandoned{name="${name}"}`] = abandoned;
    }

    return gauges;
  }
}
// #endregion
