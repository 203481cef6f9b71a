import type { Type } from '@nestjs/common';
import type { RequestHandler } from 'express';
import { turnOnPromiseHooks } from '../promise-hooks.js';
import {
  expressIdempotencyMiddleware,
  IdempotentModule,
  NodeIdempotencyModule,
  PlainPaymentsModule,
} from './payment-apps.js';
import { listen } from './post-loopback.js';

/** One of the applications of payments on Express, as a process: tells its parent where it listens, and ends with it. */

interface Served {
  readonly module: Type;
  readonly middleware?: () => readonly RequestHandler[];
}

const SERVERS = {
  plain: { module: PlainPaymentsModule },
  holdfast: { module: IdempotentModule },
  'node-idempotency': { module: NodeIdempotencyModule },
  'express-idempotency': { module: PlainPaymentsModule, middleware: expressIdempotencyMiddleware },
} satisfies Readonly<Record<string, Served>>;

export type PaymentServerName = keyof typeof SERVERS;

// Most applications have them on, and they cost all of these the same.
turnOnPromiseHooks();
process.on('disconnect', () => process.exit());
const { module, middleware = () => [] }: Served = SERVERS[process.argv[2] as PaymentServerName];
process.send?.(await listen(module, middleware()));
