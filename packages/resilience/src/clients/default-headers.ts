import { isThenable } from 'holdfast/binding';
import { withHeader, type HeaderCarrier, type Members, type OutgoingHeader } from './header-carrier.js';

/**
 * Clients with an option for headers of all messages: Nest merges them into each message as it leaves, below what the
 * message says itself. So a message that carries a header sees an option more.
 */

interface ConfiguredClient {
  readonly options?: Readonly<Record<string, unknown>>;
}

function withOption(client: object, option: string, header: OutgoingHeader): Members {
  return {
    get options() {
      const { options } = client as ConfiguredClient;
      const headers = withHeader(options?.[option], header);

      return headers === undefined ? options : { ...options, [option]: headers };
    },
  };
}

export const rabbitmqHeaders: HeaderCarrier = {
  suits: (client) => 'replyQueue' in client,
  members: (client, header) => withOption(client, 'headers', header),
};

/** MQTT 5; older versions of the protocol have no place for it. */
export const mqttUserProperties: HeaderCarrier = {
  suits: (client) => 'mqttClient' in client,
  members: (client, header) => withOption(client, 'userProperties', header),
};

/** What is used of `MsgHdrs`. */
interface NatsHeaders extends Iterable<readonly [string, readonly string[]]> {
  append(name: string, value: string): void;
  readonly code: number;
  readonly description: string;
}

interface NatsClient extends ConfiguredClient {
  readonly serializer: { serialize(packet: unknown, options?: unknown): unknown };
}

export const natsHeaders: HeaderCarrier = {
  suits: (client) => 'natsClient' in client,
  members(client, header) {
    const { serializer } = client as NatsClient;
    const serialize = (packet: unknown, options?: unknown): unknown => {
      const message = serializer.serialize(packet, options);
      return isThenable(message) ? message.then(withHeadersOfItsOwn) : withHeadersOfItsOwn(message);
    };

    // Defined on what has a getter, which a spread would have called.
    return Object.defineProperty(withOption(client, 'headers', header), 'serializer', { value: { serialize } });
  },
};

/** Nest writes into the headers that it is given, which are the caller's, for the next attempt too. */
function withHeadersOfItsOwn(message: unknown): unknown {
  const { headers } = message as { readonly headers?: NatsHeaders };
  if (headers === undefined) return message;

  const Headers = headers.constructor as new (code: number, description: string) => NatsHeaders;
  const copy = new Headers(headers.code, headers.description);
  for (const [name, values] of headers) for (const value of values) copy.append(name, value);

  return { ...(message as object), headers: copy };
}
