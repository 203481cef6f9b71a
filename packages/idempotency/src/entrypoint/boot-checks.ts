import { Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { IdempotencyInterceptor } from '../idempotency.interceptor.js';
import { checkInterceptorOrder } from './interceptor-order.js';

/** What can be seen of an application before its first call, and would go wrong later. */
@Injectable()
export class BootChecks implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly application: ApplicationConfig,
    private readonly modules: ModulesContainer,
    private readonly interceptor: IdempotencyInterceptor,
  ) {}

  /** @internal */
  onModuleInit(): void {
    const hosts = [...this.modules.values()].filter(({ providers }) => providers.has(IdempotencyInterceptor));
    if (hosts.length <= 1) return;

    throw new Error(
      `IdempotencyModule is registered ${hosts.length} times, and a call would wait for its own key. Call forRoot() or ` +
        'forRootAsync() once.',
    );
  }

  /** @internal */
  onApplicationBootstrap(): void {
    checkInterceptorOrder(this.application.getGlobalInterceptors(), this.interceptor);
  }
}
