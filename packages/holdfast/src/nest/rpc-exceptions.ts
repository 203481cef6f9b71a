import type { HandlerKinds } from './handler.js';
import type { PeerPackage } from './peer-package.js';

/** What is used of `@nestjs/microservices`. */
interface Microservices {
  readonly RpcException: new (payload: object | string) => Error;
}

/** The errors of `@nestjs/microservices`, which an application without messages need not have. */
export class RpcExceptions {
  constructor(private readonly microservices: PeerPackage<Microservices>) {}

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ rpc }) => rpc)) await this.microservices.load();
  }

  /** What Nest sends in place of `error`, which filters find as the `cause`; the error itself without the package. */
  wrap(error: Error, payload: object): unknown {
    const { module } = this.microservices;
    if (module === undefined) return error;

    return Object.assign(new module.RpcException(payload), { cause: error });
  }

  /** What ends a call with this payload; `undefined` without the package. */
  of(payload: object | string): Error | undefined {
    const { module } = this.microservices;

    return module && new module.RpcException(payload);
  }
}
