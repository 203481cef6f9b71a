/** What the handlers of both applications call: a carrier that has its answer at once. */
export interface ShippingQuote {
  readonly service: string;
  readonly price: number;
  readonly estimatedDays: number;
}

const LIVE_QUOTES: readonly ShippingQuote[] = [
  { service: 'ground', price: 6.9, estimatedDays: 4 },
  { service: 'express', price: 14.5, estimatedDays: 1 },
];

async function findOrder(orderId: string): Promise<string> {
  return orderId;
}

export async function liveQuotes(orderId: string, signal: AbortSignal): Promise<readonly ShippingQuote[]> {
  await findOrder(orderId);
  signal.throwIfAborted();

  return LIVE_QUOTES;
}

export function flatRateQuotes(): readonly ShippingQuote[] {
  return [{ service: 'flat-rate', price: 4.99, estimatedDays: 5 }];
}
