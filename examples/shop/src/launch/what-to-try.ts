export interface Addresses {
  readonly shopUrl: string;
  readonly carrierUrl: string;
  /** Where messages over TCP come in. */
  readonly messagePort?: number | undefined;
  /** Where idempotency keys are kept. */
  readonly keys?: string | undefined;
}

/** What `npm start` prints: every line that begins with two spaces is a command for a shell. */
export function whatToTry({ shopUrl, carrierUrl, messagePort, keys }: Addresses): string {
  const booking = (key: string, orderId: string): string =>
    `curl -i -X POST ${shopUrl}/shipping/shipments -H "Content-Type: application/json" ` +
    `-H "Idempotency-Key: ${key}" -d '{"orderId":"${orderId}"}'`;

  return `
Shop: ${shopUrl}
Carrier stub: ${carrierUrl}
Messages over TCP: localhost:${messagePort}
Idempotency keys: ${keys}
Ctrl+C ends both.

Live quotes from the carrier:
  curl "${shopUrl}/shipping/quotes?orderId=1001"
The same as a GraphQL query, whose failure is that of its field:
  curl ${shopUrl}/graphql -H "Content-Type: application/json" -d '{"query":"{ shippingQuotes(orderId: \\"1001\\") { service price } }"}'
And as a message over TCP:
  npm run --silent message -w examples/shop -- ${messagePort} shipping.quotes '{"orderId":"1001"}'
Make the carrier hang. A quote or a query then takes 3.0 to 3.2 seconds, a message 6.0 to 6.6, and each ends with TIMEOUT.
Once ten calls are counted and half of them have failed, the breaker opens: quotes are flat rates, the others say CIRCUIT_OPEN, at once:
  curl -X POST ${carrierUrl}/mode -d '{"mode":"hang"}'
Other ways to be in trouble are {"mode":"fail","status":503} and {"mode":"slow","delayMs":1000}.

What reached the carrier, and what of it was cancelled:
  curl ${carrierUrl}/stats
Book a shipment: 503 with Retry-After while the breaker is open, 201 otherwise. Sent again, also to a shop that was started anew,
it gets the same 201 with Idempotent-Replayed: true, and the carrier hears nothing of it. With another key it is
asked again, and answers with the same shipment, since it knows the order by its id:
  ${booking('5f1c2a9e-shipment-1001', '1001')}
The same key for another order is a mistake of the client, and a 422:
  ${booking('5f1c2a9e-shipment-1001', '1002')}
Reprice the pending orders, and look at one; the job stops at once while the breaker is open:
  curl -X POST ${shopUrl}/shipping/reprice
  curl ${shopUrl}/orders/1001
Six exports at once: two run, three wait, one is refused:
  for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w "%{http_code} after %{time_total} s\\n" ${shopUrl}/orders/export & done; wait
Eight look-ups at the tracking partner: five go through, one waits a second, two are refused:
  for i in 1 2 3 4 5 6 7 8; do curl -s -o /dev/null -w "%{http_code} after %{time_total} s\\n" ${shopUrl}/tracking/CAT00000$i & done; wait
Let the carrier answer again. Once the breaker has been open for its openDuration, 30 seconds unless OPEN_DURATION says otherwise, the next quotes are live:
  curl -X POST ${carrierUrl}/mode -d '{"mode":"answer"}'
`;
}
