import { Logger, type FactoryProvider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ConnectedMicroservices, INHERIT_REMEDY } from 'holdfast/nest';
import { ResilienceInterceptor } from '../entrypoint/resilience.interceptor.js';

/** Made while instances are made, before a microservice can be connected. */
export const CONNECTED_MICROSERVICES: FactoryProvider<ConnectedMicroservices> = {
  provide: ConnectedMicroservices,
  inject: [ModulesContainer, ResilienceInterceptor],
  useFactory(modules: ModulesContainer, interceptor: ResilienceInterceptor) {
    const logger = new Logger('ResilienceModule');
    const warn = (handlers: string): void =>
      logger.warn(`Resilience decorators on ${handlers} have no effect on messages: ${INHERIT_REMEDY}`);

    return new ConnectedMicroservices({ modules, interceptor, warn });
  },
};
