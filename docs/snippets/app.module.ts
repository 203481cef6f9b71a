import { fetchQuotes, type Quote } from './carrier.js';
// #region app
import { Controller, Get, Module, Param } from '@nestjs/common';
import { Resilience, ResilienceModule, Signal } from '@nestjs/resilience';

@Controller('quotes')
class QuotesController {
  @Get(':orderId')
  @Resilience('carrier')
  getQuotes(@Param('orderId') orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}

@Module({
  imports: [
    ResilienceModule.forRoot({
      presets: {
        carrier: { timeout: '1.5s', retry: 2, circuitBreaker: { minimumCalls: 10, openDuration: '30s' } },
      },
    }),
  ],
  controllers: [QuotesController],
})
export class AppModule {}
// #endregion
