import type { ExecutionContext } from '@nestjs/common';
import type { ResilienceError } from 'holdfast';
import type { HandlerKinds } from '../entrypoint/handler.js';
import { messageToClients, retryAfterSeconds, statusOf } from './client-answer.js';
import { PeerPackage } from './peer-package.js';
import type { Exchange, Transport } from './transport.js';

interface GraphqlInfo {
  readonly operation?: { readonly operation?: unknown };
}

/** Resolvers get the parent, the arguments, the context and this. */
const INFO = 3;

/** GraphQL on any driver: an error is that of its field, in an answer that is 200 as a whole. */
export class GraphqlTransport implements Transport {
  readonly answersOnce = true;
  private readonly graphql = new PeerPackage('graphql', () => import('graphql').catch(() => undefined));

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ graphql }) => graphql !== undefined)) await this.graphql.load();
  }

  exchangeOf(): Exchange | undefined {
    return undefined;
  }

  isSafe(context: ExecutionContext): boolean {
    return context.getArgByIndex<GraphqlInfo | undefined>(INFO)?.operation?.operation === 'query';
  }

  /** Not with `extensions.http`: servers apply that to the whole answer, of which only one field has failed. */
  translate(error: ResilienceError): unknown {
    const { module } = this.graphql;
    if (module === undefined) return error;

    const retryAfter = retryAfterSeconds(error);
    const extensions = {
      code: error.code,
      httpStatus: statusOf(error),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    };
    return new module.GraphQLError(messageToClients(error), { originalError: error, extensions });
  }
}
