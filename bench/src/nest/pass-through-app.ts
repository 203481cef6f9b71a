import {
  Controller,
  createParamDecorator,
  Get,
  Module,
  Query,
  type CallHandler,
  type NestInterceptor,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { flatRateQuotes, liveQuotes, type ShippingQuote } from './shipping.js';

class PassThroughInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle();
  }
}

const { signal: neverAborted } = new AbortController();

/** The handler takes a signal as it does in the resilient application, so that only the interceptors differ. */
const NeverAborted = createParamDecorator(() => neverAborted);

@Controller('shipping')
class ShippingController {
  @Get('quotes')
  getQuotes(@Query('orderId') orderId: string, @NeverAborted() signal: AbortSignal): Promise<readonly ShippingQuote[]> {
    return liveQuotes(orderId, signal);
  }

  @Get('flat-rates')
  getFlatRates(): readonly ShippingQuote[] {
    return flatRateQuotes();
  }
}

/** The same application with one global interceptor that does nothing. */
@Module({
  controllers: [ShippingController],
  providers: [{ provide: APP_INTERCEPTOR, useClass: PassThroughInterceptor }],
})
export class PassThroughModule {}
