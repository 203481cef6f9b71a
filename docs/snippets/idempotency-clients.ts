// #region client
import { randomUUID } from 'node:crypto';
import { createPolicy } from 'holdfast';
import { fetchJson, requireValue } from 'holdfast/fetch';

/** Tries again after what may pass: no answer at all, 409 and 425, 429, and everything from 500 on. */
const payments = createPolicy(
  { retry: { attempts: 4, backoff: { delay: '200ms', maxDelay: '10s' }, retryIf: mayPass }, budget: '30s' },
  'payments',
);

export interface Payment {
  readonly id: string;
}

/** @param key One for each intention to pay. Whoever may ask again later, such as a page after a reload, keeps it. */
export function pay(amount: number, key: string = randomUUID()): Promise<Payment> {
  return payments.execute(async ({ signal }) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
      body: JSON.stringify({ amount }),
      signal,
    };
    return requireValue(await fetchJson<Payment>(`${process.env.PAYMENTS_URL}/payments`, init, '5s'));
  });
}

const PASSING = [409, 425, 429];

function mayPass(error: unknown): boolean {
  const { status } = error as { readonly status?: number };

  return status === undefined || status >= 500 || PASSING.includes(status);
}
// #endregion
