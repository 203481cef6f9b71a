import { Controller, Get, Module, Query } from '@nestjs/common';
import { CircuitOpenError, Fallback, Resilience, ResilienceModule, Signal, Timeout } from '@nestjs/resilience';
import { flatRateQuotes, liveQuotes, type ShippingQuote } from './shipping.js';

/** The quotes route of the documentation with all its stages, and a route without any. */
@Controller('shipping')
class ShippingController {
  @Get('quotes')
  @Resilience('carrier')
  @Timeout('1.5s')
  @Fallback('flatRateQuotes', { handleIf: (error) => error instanceof CircuitOpenError })
  getQuotes(@Query('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly ShippingQuote[]> {
    return liveQuotes(orderId, signal);
  }

  @Get('flat-rates')
  getFlatRates(): readonly ShippingQuote[] {
    return flatRateQuotes();
  }

  flatRateQuotes(): readonly ShippingQuote[] {
    return flatRateQuotes();
  }
}

@Module({
  imports: [
    ResilienceModule.forRoot({
      defaults: { timeout: '5s', retry: { attempts: 3, backoff: { delay: '200ms', maxDelay: '2s' } } },
      presets: {
        carrier: {
          timeout: '2s',
          retry: { attempts: 2 },
          circuitBreaker: { failureRateThreshold: 50, minimumCalls: 10, openDuration: '30s' },
        },
      },
    }),
  ],
  controllers: [ShippingController],
})
export class ResilientModule {}

/** The timeout of the quotes route. */
export const QUOTES_TIMEOUT_MS = 1_500;
