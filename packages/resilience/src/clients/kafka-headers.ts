import { isThenable } from 'holdfast/binding';
import { withHeader, type HeaderCarrier, type OutgoingHeader } from './header-carrier.js';

interface KafkaClient {
  readonly serializer: { serialize(data: unknown, options?: unknown): unknown };
}

/** Kafka: the headers of a message as it leaves, after the client's serializer. */
export const kafkaHeaders: HeaderCarrier = {
  suits: (client) => 'producerOnlyMode' in client,
  members(client, header) {
    const { serializer } = client as KafkaClient;
    const serialize = (data: unknown, options?: unknown): unknown => {
      const message = serializer.serialize(data, options);
      return isThenable(message) ? message.then((one) => carrying(one, header)) : carrying(message, header);
    };

    return { serializer: { serialize } };
  },
};

/** A copy, since Nest's serializer writes into what it is given and passes it on. */
function carrying(message: unknown, header: OutgoingHeader): unknown {
  const { headers } = message as { readonly headers?: object };

  return { ...(message as object), headers: { ...withHeader(undefined, header), ...headers } };
}
