import { Controller, Get, Param, Post } from '@nestjs/common';
import { fetchQuotes, flatRates, type Quote } from './carrier.js';
// #region retry
import { Retry, Signal, Timeout } from '@nestjs/resilience';

@Controller('quotes')
export class QuotesController {
  @Get(':orderId')
  @Timeout('1.5s')
  @Retry({ attempts: 3, backoff: { delay: '100ms' } })
  getQuotes(@Param('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}
// #endregion

// #region post-wrong
@Controller('bookings')
export class BookingsController {
  @Post(':orderId')
  @Retry(3)
  book(@Param('orderId') orderId: string): Promise<readonly Quote[]> {
    return fetchQuotes(orderId);
  }
}
// #endregion

import { CircuitBreaker } from '@nestjs/resilience';

// #region breaker
@Controller('rates')
@Timeout('2s')
export class RatesController {
  @Get(':orderId')
  @CircuitBreaker({ name: 'carrier', minimumCalls: 10, openDuration: '30s' })
  getRates(@Param('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}
// #endregion

import { Fallback } from '@nestjs/resilience';

// #region fallback
@Controller('offers')
export class OffersController {
  @Get(':orderId')
  @Timeout('1s')
  @Fallback('flatRates')
  getOffers(@Param('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }

  flatRates(): readonly Quote[] {
    return flatRates;
  }
}
// #endregion

import { Injectable } from '@nestjs/common';

// #region provider-wrong
@Injectable()
export class QuotesService {
  @Retry(3)
  getQuotes(orderId: string): Promise<readonly Quote[]> {
    return fetchQuotes(orderId);
  }
}
// #endregion
