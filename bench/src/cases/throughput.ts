import type { PaymentServerName } from '../nest/payment-server-process.js';
import { PaymentServer } from '../nest/payment-server.js';
import type { Sides } from '../sides.js';

/** Replays per second over loopback; bare is the route without keys. Servers have a process each, clients are in this one. */
export async function replaysPerSecond(other: PaymentServerName): Promise<Sides> {
  const [ours, theirs, plain] = [
    await PaymentServer.start('holdfast'),
    await PaymentServer.start(other),
    await PaymentServer.start('plain'),
  ];

  return { ours: ours.perSecond, other: theirs.perSecond, bare: plain.perSecond, gives: 'value' };
}
