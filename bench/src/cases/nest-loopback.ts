import { requestsTo } from '../nest/loopback.js';
import { PassThroughModule } from '../nest/pass-through-app.js';
import { QUOTES_TIMEOUT_MS, ResilientModule } from '../nest/resilient-app.js';
import { answerAtOnce, type Sides } from '../sides.js';

const QUOTES = '/shipping/quotes?orderId=1001';

/** The quotes route over HTTP, client and server in one process: what a request costs both of them. */
export async function quotesOverLoopback(): Promise<Sides> {
  return {
    ours: await requestsTo(ResilientModule, QUOTES),
    other: await requestsTo(PassThroughModule, QUOTES),
    bare: answerAtOnce,
    pendingMs: [QUOTES_TIMEOUT_MS],
  };
}

/** The same request to an application without us. Both sides are one: only the promise hooks differ. */
export async function passThroughOverLoopback(): Promise<Sides> {
  const request = await requestsTo(PassThroughModule, QUOTES);

  return { ours: request, other: request, bare: answerAtOnce };
}
