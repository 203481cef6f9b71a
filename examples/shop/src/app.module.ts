// #region register-module
import { Module } from '@nestjs/common';
import { IdempotencyModule } from '@nestjs/idempotency';
import { ResilienceModule, type Duration } from '@nestjs/resilience';
import { OrdersModule } from './orders/orders.module.js';
import { ResilienceLogger } from './resilience.logger.js';
import { ShippingModule } from './shipping/shipping.module.js';
import { TrackingModule } from './tracking/tracking.module.js';

// Whatever the variable holds goes to the module, which refuses a bad duration at boot and names the option.
const openDuration = (process.env.OPEN_DURATION ?? '30s') as Duration;

@Module({
  imports: [
    // Import order matters: the first global interceptor runs outermost.
    IdempotencyModule.forRoot({}),
    ResilienceModule.forRoot({
      defaults: {
        timeout: '5s',
        retry: { attempts: 3, backoff: { delay: '200ms', maxDelay: '2s' } },
      },
      presets: {
        carrier: {
          timeout: '2s',
          retry: { attempts: 2 },
          circuitBreaker: { failureRateThreshold: 50, minimumCalls: 10, openDuration },
        },
        // Our contract allows five look-ups in five seconds; one more may wait for its turn.
        partner: {
          timeout: '2s',
          outboundRateLimit: { limit: 5, interval: '5s', maxWait: '1s' },
        },
      },
    }),
    OrdersModule,
    ShippingModule,
    TrackingModule,
  ],
  providers: [ResilienceLogger],
})
export class AppModule {}
// #endregion
