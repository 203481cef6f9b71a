import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { refuseInherited, requireObject } from 'holdfast/binding';
import { ConnectedMicroservices, requireAsyncOptions } from 'holdfast/nest';
import { Explorer } from './entrypoint/explorer.js';
import { Planner } from './entrypoint/plan.js';
import { ResilienceInterceptor } from './entrypoint/resilience.interceptor.js';
import { PolicyRegistry } from './registry.js';
import { ResilienceContext } from './resilience.context.js';
import { ResilienceEvents } from './resilience.events.js';
import {
  ConfigurableModuleClass,
  RESILIENCE_MODULE_OPTIONS,
  type ResilienceModuleAsyncOptions,
  type ResilienceModuleOptions,
} from './resilience.options.js';
import { ResilienceService } from './resilience.service.js';
import { SETTINGS } from './settings.js';
import { ApolloPlugin } from './transports/apollo-plugin.js';
import { CONNECTED_MICROSERVICES } from './transports/connected-microservices.js';
import { TRANSPORTS, Transports } from './transports/transports.js';

const OPTIONS_HINT = 'ResilienceModule.forRoot() takes { defaults, presets, … }.';

function refuseBareImport(): never {
  throw new Error(
    'ResilienceModule is imported without options. Import ResilienceModule.forRoot() or forRootAsync() once, in the ' +
      'root module; it is global, so other modules need not import it.',
  );
}

/**
 * Applies the resilience decorators of an application's entrypoints, and offers policy objects to its services.
 * Register it once, in the root module. Its settings are checked at bootstrap: what is wrong fails the boot, what does
 * nothing is warned of.
 */
@Module({
  providers: [
    PolicyRegistry,
    Planner,
    TRANSPORTS,
    ApolloPlugin,
    Explorer,
    ResilienceService,
    ResilienceEvents,
    ResilienceContext,
    ResilienceInterceptor,
    CONNECTED_MICROSERVICES,
    { provide: APP_INTERCEPTOR, useExisting: ResilienceInterceptor },
    // What forRoot() and forRootAsync() provide takes the place of this one.
    { provide: RESILIENCE_MODULE_OPTIONS, useFactory: refuseBareImport },
  ],
  exports: [ResilienceService, ResilienceEvents, ResilienceContext],
})
export class ResilienceModule extends ConfigurableModuleClass implements OnModuleInit {
  @Inject(ConnectedMicroservices)
  private readonly microservices!: ConnectedMicroservices;
  private initialization: Promise<void> | undefined = undefined;

  constructor(
    private readonly explorer: Explorer,
    private readonly events: ResilienceEvents,
    private readonly transports: Transports,
  ) {
    super();
  }

  static override forRoot(options: ResilienceModuleOptions = {}): DynamicModule {
    requireObject(options, '', OPTIONS_HINT);
    // Nest copies them before they are read.
    refuseInherited(options, SETTINGS);

    return super.forRoot(options);
  }

  static override forRootAsync(options: ResilienceModuleAsyncOptions): DynamicModule {
    requireAsyncOptions(options, 'ResilienceModule');

    return super.forRootAsync(options);
  }

  /**
   * Nest calls it again for each microservice of a hybrid application that is initialized later.
   *
   * @internal
   */
  onModuleInit(): Promise<void> {
    return (this.initialization ??= this.initialize());
  }

  private async initialize(): Promise<void> {
    const { kinds, messages } = this.explorer.explore();
    this.microservices.report(messages);
    await this.transports.prepare(kinds);
    this.events.join();
  }
}
