import { RetryPolicy } from 'holdfast';
import { Dispatcher, interceptors } from 'undici';
import { ATTEMPTS } from '../libraries/library.js';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

/** A server without a network: each request is answered at once, with an empty body. */
class AnsweringDispatcher extends Dispatcher {
  override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const controller = new AnsweredRequest();
    handler.onRequestStart?.(controller, {});
    queueMicrotask(() => {
      handler.onResponseStart?.(controller, 200, {}, 'OK');
      handler.onResponseEnd?.(controller, {});
    });

    return true;
  }
}

/** Nobody pauses or aborts what is answered at once. */
class AnsweredRequest implements Dispatcher.DispatchController {
  readonly rawHeaders = null;
  readonly rawTrailers = null;
  readonly aborted = false;
  readonly paused = false;
  readonly reason = null;

  pause(): void {}

  resume(): void {}

  abort(): void {}
}

function requestTo(dispatcher: Dispatcher): Call {
  return async () => {
    const { body } = await dispatcher.request({ origin: 'http://dependency.invalid', path: '/', method: 'GET' });
    await body.dump();
  };
}

/** A request of undici under our retry, and the same through undici's own retry interceptor. */
export function retryOfRequests(): Sides {
  const bare = requestTo(new AnsweringDispatcher());
  const ours = new RetryPolicy({ attempts: ATTEMPTS });
  const other = requestTo(new AnsweringDispatcher().compose(interceptors.retry({ maxRetries: ATTEMPTS - 1 })));

  return { ours: () => ours.execute(bare), other, bare: answerAtOnce };
}
