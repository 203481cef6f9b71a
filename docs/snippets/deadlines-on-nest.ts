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
