/** How the carrier behaves from now on. */
export type CarrierMode =
  | { readonly mode: 'answer' }
  | { readonly mode: 'hang' }
  | { readonly mode: 'fail'; readonly status: number }
  | { readonly mode: 'slow'; readonly delayMs: number };

const DEFAULT_STATUS = 503;
const DEFAULT_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;

/** Reads the body of `POST /mode`; what it does not understand is an error with a text for whoever typed it. */
export function parseMode(body: Readonly<Record<string, unknown>>): CarrierMode {
  const { mode, status = DEFAULT_STATUS, delayMs = DEFAULT_DELAY_MS } = body;

  switch (mode) {
    case 'answer':
    case 'hang':
      return { mode };
    case 'fail':
      return { mode, status: wholeNumber(status, 'status', { from: 400, to: 599 }) };
    case 'slow':
      return { mode, delayMs: wholeNumber(delayMs, 'delayMs', { from: 0, to: LONGEST_DELAY_MS }) };
    default:
      throw new RangeError(`mode: "answer", "hang", "fail" or "slow", not ${JSON.stringify(mode)}`);
  }
}

function wholeNumber(value: unknown, name: string, { from, to }: { from: number; to: number }): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < from || value > to) {
    throw new RangeError(`${name}: a whole number from ${from} to ${to}, not ${JSON.stringify(value)}`);
  }
  return value;
}
