/**
 * What callers write beside a message, by the context that Nest hands to the handlers of each transport. Contexts are
 * told by their shape, since there may be several copies of their package. What comes from outside may be anything:
 * what is no text, or comes more than once, is told as it is, and whoever reads it decides.
 */

type Headers = Iterable<readonly [string, unknown]>;

interface MessageContext {
  /** NATS: `MsgHdrs`, which iterates over names and lists of values. */
  getHeaders?(): unknown;
  /** RabbitMQ, with `properties`; Kafka, with headers whose values are bytes. */
  getMessage?(): { readonly headers?: unknown; readonly properties?: { readonly headers?: unknown } } | undefined;
  /** MQTT 5. */
  getPacket?(): { readonly properties?: { readonly userProperties?: unknown } } | undefined;
  /** TCP and Redis, where Nest's own packet has a place for it. */
  getMetadata?(): unknown;
}

/**
 * The values under a header's name, whatever its case: one, or a list when there are several.
 *
 * @param message What Nest hands to a handler beside the data.
 * @param name In lower case.
 */
export function messageHeader(message: unknown, name: string): string | readonly string[] | undefined {
  const texts = messageHeaderValues(message, name).map(textOf);

  return texts.length <= 1 ? texts[0] : texts;
}

/**
 * What stands under a header's name, whatever its case, as it came: of a list, which may be long, the first two.
 *
 * @param message What Nest hands to a handler beside the data.
 * @param name In lower case.
 */
export function messageHeaderValues(message: unknown, name: string): readonly unknown[] {
  if (typeof message !== 'object' || message === null) return [];

  const values: unknown[] = [];
  for (const [key, value] of headersOf(message as MessageContext)) {
    if (key.length !== name.length || key.toLowerCase() !== name) continue;

    // Two are enough to see that there are several.
    values.push(...(Array.isArray(value) ? (value.slice(0, 2) as unknown[]) : [value]));
  }

  return values;
}

function headersOf(context: MessageContext): Headers {
  const message = context.getMessage?.();
  const headers =
    context.getHeaders?.() ??
    message?.properties?.headers ??
    message?.headers ??
    context.getPacket?.()?.properties?.userProperties ??
    context.getMetadata?.();
  if (typeof headers !== 'object' || headers === null) return [];

  return Symbol.iterator in headers && !Array.isArray(headers) ? (headers as Headers) : Object.entries(headers);
}

/** Nobody writes a longer one of the headers that are read; bytes are not decoded to find that out. */
const LONGEST = 64;

/** What is no text and no number is as good as an empty text. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);

  return value instanceof Uint8Array && value.length <= LONGEST ? new TextDecoder().decode(value) : '';
}
