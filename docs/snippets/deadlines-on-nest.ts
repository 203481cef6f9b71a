import { Controller, Get, Param } from '@nestjs/common';
import { fetchQuotes, type Quote } from './carrier.js';
// #region decorator
import { Budget, Retry, Signal, Timeout } from '@nestjs/resilience';

@Controller('quotes')
export class QuotesController {
  @Get(':orderId')
  @Budget('3s') // all attempts, waits and queues together
  @Retry({ attempts: 3, backoff: { delay: '200ms', jitter: 'none' } })
  @Timeout('1.5s') // each attempt
  getQuotes(@Param('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}
// #endregion

import { Module } from '@nestjs/common';
// #region headers
import { deadlineHeader, ResilienceModule } from '@nestjs/resilience';

@Module({
  imports: [ResilienceModule.forRoot({ deadlineHeaders: ['x-request-timeout-ms'] })],
  controllers: [QuotesController],
})
export class AppModule {}

/** For each call of a dependency, in a handler or in any service that it uses. */
export function headersOfCall(): Record<string, string> {
  const left = deadlineHeader('x-request-timeout-ms');

  return left === undefined ? {} : { 'x-request-timeout-ms': left };
}
// #endregion
