import type { ExecutionContext, FactoryProvider } from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { grpcCallOf, handlerKindsIn, PeerPackage, RpcExceptions, type HandlerKinds } from 'holdfast/nest';
import { binding } from '../binding.js';
import { PolicyRegistry } from '../registry.js';
import { GraphqlNotes, type ApolloAnswer } from './graphql-notes.js';
import { GraphqlTransport } from './graphql.js';
import { GrpcTransport } from './grpc.js';
import { HttpTransport } from './http.js';
import { RpcTransport } from './rpc.js';
import { UNKNOWN_TRANSPORT, type Transport } from './transport.js';
import { WebSocketTransport } from './websocket.js';

/** The ways into an application, by the type that Nest gives the context of a call. */
export class Transports {
  private readonly byType: ReadonlyMap<string, Transport>;
  /** To Nest its calls are messages as well. */
  private readonly grpc: GrpcTransport;
  private readonly graphqlNotes: GraphqlNotes;

  constructor(adapterHost: HttpAdapterHost, { settings }: PolicyRegistry) {
    const exceptions = new RpcExceptions(
      new PeerPackage({
        name: '@nestjs/microservices',
        binding,
        bundled: () => import('@nestjs/microservices').catch(() => undefined),
      }),
    );
    this.grpc = new GrpcTransport(exceptions);
    this.graphqlNotes = new GraphqlNotes();
    this.byType = new Map<string, Transport>([
      ['http', new HttpTransport(adapterHost, settings.degraded)],
      ['graphql', new GraphqlTransport(settings.degraded, this.graphqlNotes)],
      ['rpc', new RpcTransport(exceptions)],
      ['ws', new WebSocketTransport()],
    ]);
  }

  of(context: ExecutionContext): Transport {
    const type = context.getType<string>();
    if (type === 'rpc' && grpcCallOf(context) !== undefined) return this.grpc;

    return this.byType.get(type) ?? UNKNOWN_TRANSPORT;
  }

  /** For servers that ask before an answer leaves: the last word on one of Apollo Server. */
  completeAnswer(answer: unknown): void {
    this.graphqlNotes.writeInto(answer as ApolloAnswer);
  }

  /** Loads what handlers of these kinds need, so that errors are translated at once when they come. */
  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    for (const transport of this.byType.values()) await transport.prepare?.(kinds);
  }
}

/**
 * Prepared while instances are made, since microservices that are started before the application is initialized have
 * their first messages before anybody is told of its bootstrap.
 */
export const TRANSPORTS: FactoryProvider<Transports> = {
  provide: Transports,
  inject: [HttpAdapterHost, PolicyRegistry, ModulesContainer],
  async useFactory(adapterHost: HttpAdapterHost, registry: PolicyRegistry, modules: ModulesContainer) {
    const transports = new Transports(adapterHost, registry);
    await transports.prepare(handlerKindsIn(modules));

    return transports;
  },
};
