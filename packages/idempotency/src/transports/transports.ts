import type { FactoryProvider } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { handlerKindsIn, PeerPackage, RpcExceptions, type HandlerKinds } from 'holdfast/nest';
import { binding } from '../binding.js';
import { IdempotencyRuntime } from '../idempotency.runtime.js';
import { GraphqlTransport } from './graphql.js';
import { HttpTransport } from './http.js';
import { RpcTransport } from './rpc.js';
import type { Transport } from './transport.js';

/** The transports, by the names that Nest has for kinds of calls. */
export class Transports {
  private readonly known: ReadonlyMap<string, Transport>;

  constructor(transports: readonly Transport[]) {
    this.known = new Map(transports.map((transport) => [transport.context, transport]));
  }

  /** `undefined` for a kind of call that has no keys. */
  of(type: string): Transport | undefined {
    return this.known.get(type);
  }

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    for (const transport of this.known.values()) await transport.prepare?.(kinds);
  }
}

const HTTP: FactoryProvider<HttpTransport> = {
  provide: HttpTransport,
  inject: [HttpAdapterHost, ApplicationConfig, IdempotencyRuntime],
  useFactory: (adapterHost: HttpAdapterHost, application: ApplicationConfig, { settings }: IdempotencyRuntime) =>
    new HttpTransport(adapterHost, application, settings),
};

/**
 * Prepared while instances are made, since microservices that are started before the application is initialized have
 * their first messages before anybody is told of it.
 */
const ALL: FactoryProvider<Transports> = {
  provide: Transports,
  inject: [HttpTransport, IdempotencyRuntime, ModulesContainer],
  async useFactory(http: HttpTransport, { settings }: IdempotencyRuntime, modules: ModulesContainer) {
    const exceptions = new RpcExceptions(
      new PeerPackage({
        name: '@nestjs/microservices',
        binding,
        bundled: () => import('@nestjs/microservices').catch(() => undefined),
      }),
    );
    const transports = new Transports([http, new GraphqlTransport(settings), new RpcTransport(settings, exceptions)]);
    await transports.prepare(handlerKindsIn(modules));

    return transports;
  },
};

export const TRANSPORTS: readonly FactoryProvider[] = [HTTP, ALL];
