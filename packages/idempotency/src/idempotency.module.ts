import { Module, type DynamicModule } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { requireObject, withPath } from 'holdfast/binding';
import { requireAsyncOptions } from 'holdfast/nest';
import { BootChecks } from './entrypoint/boot-checks.js';
import { HandlerExplorer } from './entrypoint/handler-explorer.js';
import { IdempotencyEvents } from './idempotency.events.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import {
  ConfigurableModuleClass,
  type IdempotencyModuleAsyncOptions,
  type IdempotencyModuleOptions,
} from './idempotency.options.js';
import { IdempotencyRuntime } from './idempotency.runtime.js';
import { IdempotencyService } from './idempotency.service.js';
import { IdempotencyStorage } from './idempotency.storage.js';
import { CONNECTED_MICROSERVICES } from './transports/connected-microservices.js';
import { TRANSPORTS } from './transports/transports.js';

/**
 * Answers repeated calls of decorated handlers from a store. Register it once, in the root module and before
 * `ResilienceModule`, so that a repeated call is answered before any breaker, bulkhead or retry.
 */
@Module({
  providers: [
    IdempotencyStorage,
    IdempotencyEvents,
    IdempotencyRuntime,
    IdempotencyService,
    ...TRANSPORTS,
    IdempotencyInterceptor,
    CONNECTED_MICROSERVICES,
    HandlerExplorer,
    BootChecks,
    { provide: APP_INTERCEPTOR, useExisting: IdempotencyInterceptor },
  ],
  exports: [IdempotencyStorage, IdempotencyEvents, IdempotencyService],
})
export class IdempotencyModule extends ConfigurableModuleClass {
  /** @throws TypeError naming the option, when the application is built. */
  static override forRoot(options: IdempotencyModuleOptions = {}): DynamicModule {
    withPath('IdempotencyModule', () => requireObject(options, '', 'forRoot() takes { ttl, scope, … }.'));

    return super.forRoot(options);
  }

  static override forRootAsync(options: IdempotencyModuleAsyncOptions): DynamicModule {
    requireAsyncOptions(options, 'IdempotencyModule');

    return super.forRootAsync(options);
  }
}
