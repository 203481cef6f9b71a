import { fetchQuotes, type Quote } from './carrier.js';
// #region three-wrong
import { RetryPolicy } from 'holdfast';

const inTheSdk = new RetryPolicy({ attempts: 3, backoff: { delay: '100ms' } });
const inTheService = new RetryPolicy({ attempts: 3, backoff: { delay: '100ms' } });
const atTheRoute = new RetryPolicy({ attempts: 3, backoff: { delay: '100ms' } });

export function getQuotes(orderId: string): Promise<readonly Quote[]> {
  return atTheRoute.execute(() =>
    inTheService.execute(() => inTheSdk.execute(({ signal }) => fetchQuotes(orderId, signal))),
  );
}
// #endregion

// #region one-right
export function getQuotesOnce(orderId: string): Promise<readonly Quote[]> {
  return atTheRoute.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
// #region budgets
import { ResilienceService } from '@nestjs/resilience';

@Injectable()
export class BudgetReport implements OnApplicationBootstrap {
  private readonly logger = new Logger('Budgets');

  constructor(private readonly resilience: ResilienceService) {}

  onApplicationBootstrap(): void {
    for (const { source, arithmetic } of this.resilience.budgets()) this.logger.log(`${source}: ${arithmetic}`);
  }
}
// #endregion
