/** What the payments route is sent, and what it answers: a body of a few hundred bytes, as such routes have. */

export interface Payment {
  readonly id: string;
  readonly status: 'captured';
  readonly amount: number;
  readonly currency: string;
  readonly items: readonly { readonly sku: string; readonly quantity: number; readonly price: number }[];
}

export const ORDER = {
  orderId: '1001',
  amount: 4_297,
  currency: 'EUR',
  items: [
    { sku: 'kibble-2kg', quantity: 2, price: 1_599 },
    { sku: 'litter-10l', quantity: 1, price: 1_099 },
  ],
};

/** The same payment, again and again under one key. */
export const REPEATED_POST = {
  path: '/payments',
  body: ORDER,
  headers: { 'idempotency-key': '8e03978e-40d5-43e8-bc93-6894a57f9324' },
};

export function capture({ orderId, amount, currency, items }: typeof ORDER): Payment {
  return { id: `payment-of-${orderId}`, status: 'captured', amount, currency, items };
}
