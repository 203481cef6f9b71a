import type { ResilienceError } from 'holdfast';
import type { HandlerKinds } from '../entrypoint/handler.js';
import { payloadOf } from './client-answer.js';
import { PeerPackage } from './peer-package.js';
import type { Exchange, Transport } from './transport.js';

/** Messages and events of any microservice transport. */
export class RpcTransport implements Transport {
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;
  private readonly microservices = new PeerPackage('@nestjs/microservices', () =>
    import('@nestjs/microservices').catch(() => undefined),
  );

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ rpc }) => rpc)) await this.microservices.load();
  }

  exchangeOf(): Exchange | undefined {
    return undefined;
  }

  isSafe(): undefined {
    return undefined;
  }

  translate(error: ResilienceError): unknown {
    const { module } = this.microservices;
    if (module === undefined) return error;

    return Object.assign(new module.RpcException(payloadOf(error)), { cause: error });
  }
}
