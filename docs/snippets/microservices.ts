import { Controller, Inject, Injectable, Module } from '@nestjs/common';
import { fetchQuotes, type Quote } from './carrier.js';
// #region handlers
import { MessagePattern, Payload } from '@nestjs/microservices';
import { Resilience, Retry, Signal } from '@nestjs/resilience';

@Controller()
export class QuotesHandlers {
  @MessagePattern('quotes')
  @Resilience('carrier') // its timeout and its breaker; not its retry
  getQuotes(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }

  @MessagePattern('quotes.again')
  @Resilience('carrier')
  @Retry({ attempts: 3, backoff: { delay: '10ms' } }) // safe to run twice: the handler itself says so
  getQuotesAgain(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}
// #endregion

// #region client
import { ClientsModule, Transport, type ClientProxy } from '@nestjs/microservices';
import { boundedClient } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';

@Injectable()
export class Warehouse {
  private readonly client: ClientProxy;

  constructor(@Inject('WAREHOUSE') client: ClientProxy) {
    this.client = boundedClient(client, { header: 'x-request-timeout-ms' });
  }

  /** Ends with the attempt that it is called in, and tells the warehouse how long that will wait. */
  stock(sku: string): Promise<number> {
    return lastValueFrom(this.client.send<number>('stock', { sku }));
  }
}

@Module({
  imports: [ClientsModule.register([{ name: 'WAREHOUSE', transport: Transport.TCP, options: { port: 3001 } }])],
  providers: [Warehouse],
})
export class WarehouseModule {}
// #endregion
