import { Controller, Get, Module, Post, type DynamicModule } from '@nestjs/common';
import {
  Budget,
  Bulkhead,
  CircuitBreaker,
  Fallback,
  fanOut,
  optional,
  required,
  Resilience,
  ResilienceModule,
  ResilienceService,
  Signal,
  Timeout,
  type PartialResponse,
} from '@nestjs/resilience';
import { Calls } from './calls.js';
import { BREAKERS, BULKHEADS, RATE_LIMIT, REVIEWS_TIMEOUT_MS, ROUTES, TIMEOUT_MS } from './settings.js';

/** One route for each way in which stages meet. */
@Controller()
class Routes {
  constructor(
    private readonly calls: Calls,
    private readonly resilience: ResilienceService,
  ) {}

  @Get('quotes')
  @Resilience('quotes')
  quotes(@Signal() signal: AbortSignal): Promise<unknown> {
    return this.calls.make('quotes', signal);
  }

  @Get('prices')
  @Resilience('prices')
  @Fallback('lastKnownPrices')
  prices(@Signal() signal: AbortSignal): Promise<unknown> {
    return this.calls.make('prices', signal);
  }

  lastKnownPrices(): unknown {
    return { from: 'memory' };
  }

  @Get('page')
  @Budget(ROUTES.page.budgetMs)
  page(): Promise<PartialResponse<object>> {
    const { calls } = this;
    const timeout = TIMEOUT_MS;

    return fanOut({
      product: required(({ signal }) => calls.make('product', signal), { timeout }),
      reviews: optional(({ signal }) => calls.make('reviews', signal), {
        timeout,
        fallback: null,
        policy: this.resilience.preset('reviews'),
      }),
      similar: optional(({ signal }) => calls.make('similar', signal), { timeout, fallback: [] }),
    });
  }

  @Post('orders')
  @Budget(ROUTES.orders.budgetMs)
  @CircuitBreaker({ name: 'orders', ...BREAKERS.orders })
  @Bulkhead({ name: 'orders', ...BULKHEADS.orders })
  orders(): Promise<unknown> {
    return this.calls.make('orders', undefined);
  }

  @Get('reports')
  @Budget(ROUTES.reports.budgetMs)
  @Timeout(TIMEOUT_MS)
  @Bulkhead({ name: 'reports', ...BULKHEADS.reports })
  reports(): Promise<unknown> {
    return this.calls.makeStubbornly('reports');
  }
}

@Module({})
export class ApplicationModule {
  static with(calls: Calls): DynamicModule {
    return {
      module: ApplicationModule,
      imports: [ResilienceModule.forRoot({ presets: PRESETS, abortOnDisconnect: 'always' })],
      controllers: [Routes],
      providers: [{ provide: Calls, useValue: calls }],
    };
  }
}

const PRESETS = {
  quotes: {
    budget: ROUTES.quotes.budgetMs,
    retry: { attempts: 2, backoff: { delay: 20 } },
    timeout: TIMEOUT_MS,
    circuitBreaker: BREAKERS.quotes,
    bulkhead: BULKHEADS.quotes,
  },
  prices: {
    budget: ROUTES.prices.budgetMs,
    timeout: TIMEOUT_MS,
    circuitBreaker: BREAKERS.prices,
    outboundRateLimit: RATE_LIMIT,
  },
  reviews: { timeout: REVIEWS_TIMEOUT_MS, circuitBreaker: BREAKERS.reviews, bulkhead: BULKHEADS.reviews },
};
