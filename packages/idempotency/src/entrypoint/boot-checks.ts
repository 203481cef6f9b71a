import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { IdempotencyInterceptor } from '../idempotency.interceptor.js';
import { HandlerExplorer } from './handler-explorer.js';
import { checkInterceptorOrder } from './interceptor-order.js';

/**
 * What can be seen of an application before its first call, and would go wrong later. Nest calls the hooks again for each
 * microservice of a hybrid application that is initialized later.
 */
@Injectable()
export class BootChecks implements OnModuleInit, OnApplicationBootstrap {
  @Inject(ApplicationConfig)
  private readonly application!: ApplicationConfig;
  private explored: Promise<void> | undefined = undefined;
  private isOrderChecked = false;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly interceptor: IdempotencyInterceptor,
    private readonly explorer: HandlerExplorer,
  ) {}

  /** @internal */
  onModuleInit(): Promise<void> {
    return (this.explored ??= this.check());
  }

  /** @internal */
  onApplicationBootstrap(): void {
    if (this.isOrderChecked) return;

    this.isOrderChecked = true;
    checkInterceptorOrder(this.application.getGlobalInterceptors(), this.interceptor);
  }

  private async check(): Promise<void> {
    this.refuseSecondRegistration();
    await this.explorer.explore();
  }

  private refuseSecondRegistration(): void {
    const hosts = [...this.modules.values()].filter(({ providers }) => providers.has(IdempotencyInterceptor));
    if (hosts.length <= 1) return;

    throw new Error(
      `IdempotencyModule is registered ${hosts.length} times, and a call would wait for its own key. Call forRoot() or ` +
        'forRootAsync() once.',
    );
  }
}
