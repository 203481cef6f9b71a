import { fetchQuotes, type Quote } from './carrier.js';
// #region create
import { Injectable } from '@nestjs/common';
import { ResilienceService, type ResiliencePolicy } from '@nestjs/resilience';

@Injectable()
export class QuotesService {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.create({ timeout: '800ms', retry: 2, circuitBreaker: 'carrier' }, 'quick-quotes');
  }

  getQuotes(orderId: string): Promise<readonly Quote[]> {
    return this.policy.execute(({ signal }) => fetchQuotes(orderId, signal), { source: 'QuotesService.getQuotes' });
  }
}
// #endregion

import { ResilienceContext } from '@nestjs/resilience';

// #region context
@Injectable()
export class CarrierGateway {
  constructor(private readonly resilienceContext: ResilienceContext) {}

  getQuotes(orderId: string): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, this.resilienceContext.signal);
  }
}
// #endregion

interface AuditLog {
  write(line: string, signal: AbortSignal): Promise<void>;
}

// #region detached
export function audit(policy: ResiliencePolicy, log: AuditLog): Promise<void> {
  return policy.execute(({ signal }) => log.write('quotes asked for', signal), { detached: true });
}
// #endregion

// #region each-call-wrong
@Injectable()
export class WastefulService {
  constructor(private readonly resilience: ResilienceService) {}

  getQuotes(orderId: string): Promise<readonly Quote[]> {
    const policy = this.resilience.create({ timeout: '800ms', circuitBreaker: { minimumCalls: 10 } }, 'quotes');
    return policy.execute(({ signal }) => fetchQuotes(orderId, signal));
  }
}
// #endregion
