import { RetryPolicy } from 'holdfast';
import { interceptors, type Dispatcher } from 'undici';
import { ATTEMPTS } from '../libraries/library.js';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

type Dispatch = Dispatcher['dispatch'];

/** Nobody pauses or aborts what is answered at once. */
const CONTROLLER: Dispatcher.DispatchController = {
  rawHeaders: null,
  rawTrailers: null,
  aborted: false,
  paused: false,
  reason: null,
  pause: () => {},
  resume: () => {},
  abort: () => {},
};

/** A server without a network: each request is answered at once, with an empty body. */
const answer: Dispatch = (_request, handler) => {
  handler.onRequestStart?.(CONTROLLER, {});
  queueMicrotask(() => {
    handler.onResponseStart?.(CONTROLLER, 200, {}, 'OK');
    handler.onResponseEnd?.(CONTROLLER, {});
  });

  return true;
};

function requestThrough(dispatch: Dispatch): Call {
  return () =>
    new Promise<void>((resolve, reject) => {
      dispatch(
        { origin: 'http://dependency.invalid', path: '/', method: 'GET' },
        {
          onRequestStart: () => {},
          onResponseStart: () => {},
          onResponseData: () => {},
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
}

/** A request that undici dispatches under our retry, and through undici's own retry interceptor. */
export function retryOfRequests(): Sides {
  const request = requestThrough(answer);
  const ours = new RetryPolicy({ attempts: ATTEMPTS });
  const other = requestThrough(interceptors.retry({ maxRetries: ATTEMPTS - 1 })(answer));

  return { ours: () => ours.execute(request), other, bare: answerAtOnce };
}
