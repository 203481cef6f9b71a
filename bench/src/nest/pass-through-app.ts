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

/**
 * The handler takes a signal here too, made for the request as one would by hand. On Node 20 making one takes most of
 * the time that the whole route is allowed (2.4 microseconds of 3), and it is not what is compared.
 */
const OwnSignal = createParamDecorator(() => new AbortController().signal);

@Controller('shipping')
class ShippingController {
  @Get('quotes')
  getQuotes(@Query('orderId') orderId: string, @OwnSignal() signal: AbortSignal): Promise<readonly ShippingQuote[]> {
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
