import type { ResilienceError } from 'holdfast';
import { type HandlerKinds, PeerPackage } from 'holdfast/nest';
import { binding } from '../binding.js';

/** The errors of `@nestjs/microservices`, which an application without messages need not have. */
export class RpcExceptions {
  private readonly microservices = new PeerPackage({
    name: '@nestjs/microservices',
    binding,
    bundled: () => import('@nestjs/microservices').catch(() => undefined),
  });

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ rpc }) => rpc)) await this.microservices.load();
  }

  /** What Nest sends in place of `error`, which filters find as the `cause`; the error itself without the package. */
  wrap(error: ResilienceError, payload: object): unknown {
    const { module } = this.microservices;
    if (module === undefined) return error;

    return Object.assign(new module.RpcException(payload), { cause: error });
  }
}
