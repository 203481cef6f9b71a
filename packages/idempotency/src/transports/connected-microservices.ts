import type { FactoryProvider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ConnectedMicroservices, INHERIT_REMEDY } from 'holdfast/nest';
import { logger } from '../log.js';
import { IdempotencyInterceptor } from '../idempotency.interceptor.js';

/** Made while instances are made, before a microservice can be connected. */
export const CONNECTED_MICROSERVICES: FactoryProvider<ConnectedMicroservices> = {
  provide: ConnectedMicroservices,
  inject: [ModulesContainer, IdempotencyInterceptor],
  useFactory(modules: ModulesContainer, interceptor: IdempotencyInterceptor) {
    const warn = (handlers: string): void =>
      logger.warn(`@Idempotent() on ${handlers} has no effect on messages: ${INHERIT_REMEDY}`);

    return new ConnectedMicroservices({ modules, interceptor, warn });
  },
};
