// #region client
import { randomUUID } from 'node:crypto';
import { createPolicy } from 'holdfast';

/** Tries again after what may pass: no answer at all, 409 and 425, 429, and most of what is 500 or above. */
const payments = createPolicy(
  {
    retry: { attempts: 4, backoff: { delay: '200ms', maxDelay: '10s' }, retryIf: mayPass },
    timeout: '5s',
    budget: '30s',
  },
  'payments',
);

export interface Payment {
  readonly id: string;
}

/** An answer that is no payment. */
class RefusedError extends Error {
  readonly status: number;
  readonly headers: Headers;

  /** @param code Of the refusals of a key. */
  constructor(
    response: Response,
    readonly code: string | undefined,
  ) {
    super(`The payment was answered with ${response.status}`);
    this.status = response.status;
    this.headers = response.headers;
  }
}

/** @param key One for each intention to pay. Whoever may ask again later, such as a page after a reload, keeps it. */
export function pay(amount: number, key: string = randomUUID()): Promise<Payment> {
  return payments.execute(async ({ signal }) => {
    const response = await fetch(`${process.env.PAYMENTS_URL}/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
      body: JSON.stringify({ amount }),
      signal,
    });
    if (response.ok) return (await response.json()) as Payment;

    throw new RefusedError(response, await codeOf(response));
  });
}

/** What stands between may answer with something else than JSON. */
async function codeOf(response: Response): Promise<string | undefined> {
  const { code } = (await response.json().catch(() => ({}))) as { readonly code?: string };

  return code;
}

const PASSING = [409, 425, 429];
/** Of 500s that stay as they are under this key. */
const LASTING = ['IDEMPOTENCY_RECORD_UNREADABLE', 'IDEMPOTENCY_SCOPE_MISSING'];

function mayPass(error: unknown): boolean {
  const { status, code = '' } = error as Partial<RefusedError>;

  return status === undefined || PASSING.includes(status) || (status >= 500 && !LASTING.includes(code));
}
// #endregion
