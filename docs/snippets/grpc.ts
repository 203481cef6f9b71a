import { Controller, Inject, Injectable, Module } from '@nestjs/common';
import { fetchQuotes, type Quote } from './carrier.js';
// #region handlers
import { GrpcMethod, Payload } from '@nestjs/microservices';
import { CircuitBreaker, Retry, Signal, Timeout } from '@nestjs/resilience';
import { from, map, mergeMap, timer, type Observable } from 'rxjs';

export interface Order {
  readonly orderId: string;
}

export interface Found {
  readonly quotes?: readonly Quote[];
}

@Controller()
export class QuotesHandlers {
  @GrpcMethod('Quotes', 'Find')
  @Timeout('1.5s')
  @Retry({ attempts: 2 }) // safe to run twice: it only reads
  @CircuitBreaker({ name: 'carrier', minimumCalls: 10 })
  async find(@Payload() { orderId }: Order, @Signal() signal: AbortSignal): Promise<Found> {
    return { quotes: await fetchQuotes(orderId, signal) };
  }

  @GrpcMethod('Quotes', 'Watch')
  @Timeout('1.5s') // until the first value
  watch(@Payload() { orderId }: Order, @Signal() signal: AbortSignal): Observable<Found> {
    return timer(0, 60_000).pipe(
      mergeMap(() => from(fetchQuotes(orderId, signal))),
      map((quotes) => ({ quotes })),
    );
  }
}
// #endregion

// #region caller
import type { ServiceError } from '@grpc/grpc-js';

export interface Refusal {
  readonly code: string;
  readonly retryAfter?: number;
}

/** What the service says about an error; `undefined` when it says nothing. */
export function refusalOf(error: ServiceError): Refusal | undefined {
  const [json] = error.metadata?.get('x-resilience-error') ?? [];

  return json === undefined ? undefined : (JSON.parse(String(json)) as Refusal);
}
// #endregion

// #region client
import { fileURLToPath } from 'node:url';
import { ClientsModule, Transport, type ClientGrpc } from '@nestjs/microservices';
import { boundedGrpcClient, ResilienceService, type ResiliencePolicy } from '@nestjs/resilience';
import { firstValueFrom } from 'rxjs';

export const QUOTES = {
  package: 'quotes',
  protoPath: fileURLToPath(new URL('quotes.proto', import.meta.url)), // beside this file, wherever the process starts
};

interface QuotesService {
  find(order: Order): Observable<Found>;
}

@Injectable()
export class QuotesClient {
  private readonly quotes: QuotesService;
  private readonly policy: ResiliencePolicy;

  constructor(@Inject('QUOTES') client: ClientGrpc, resilience: ResilienceService) {
    this.quotes = boundedGrpcClient(client).getService('Quotes');
    this.policy = resilience.create({ timeout: '1s', retry: { attempts: 2 } }, 'quotes');
  }

  find(orderId: string): Promise<Found> {
    return this.policy.execute(() => firstValueFrom(this.quotes.find({ orderId })));
  }
}

@Module({
  imports: [
    ClientsModule.register([
      { name: 'QUOTES', transport: Transport.GRPC, options: { ...QUOTES, url: 'localhost:5000' } },
    ]),
  ],
  providers: [QuotesClient],
})
export class QuotesClientModule {}
// #endregion
