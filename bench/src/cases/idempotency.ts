import {
  expressIdempotencyMiddleware,
  IdempotentModule,
  NodeIdempotencyModule,
  PlainPaymentsModule,
} from '../nest/payment-apps.js';
import { postTo } from '../nest/post-loopback.js';
import { postRouteOf } from '../nest/route-callbacks.js';
import { REPEATED_POST as POST } from '../nest/payments.js';
import { answerAtOnce, type Sides } from '../sides.js';

/** How long each call of a store may take by default. */
const STORE_TIMEOUT_MS = 10_000;

/** An answer from memory in place of a handler that has its own at once: all of the way is the package's. */
export async function replayFromMemory(): Promise<Sides> {
  return {
    ours: await postRouteOf(IdempotentModule, POST),
    other: await postRouteOf(PlainPaymentsModule, POST),
    bare: answerAtOnce,
    pendingMs: [STORE_TIMEOUT_MS],
  };
}

export async function replayOverNodeIdempotency(): Promise<Sides> {
  return {
    ours: await postRouteOf(IdempotentModule, POST),
    other: await postRouteOf(NodeIdempotencyModule, POST),
    bare: answerAtOnce,
    pendingMs: [STORE_TIMEOUT_MS],
  };
}

/** Over a connection: the other package is middleware of Express, and answers below Nest. */
export async function replayOverExpressIdempotency(): Promise<Sides> {
  return {
    ours: await postTo(IdempotentModule, POST),
    other: await postTo(PlainPaymentsModule, POST, expressIdempotencyMiddleware()),
    bare: answerAtOnce,
    pendingMs: [STORE_TIMEOUT_MS],
  };
}
