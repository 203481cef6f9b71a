import { withHeader, type HeaderCarrier } from './header-carrier.js';

interface PacketClient {
  /** Missing before Nest's packets had metadata. */
  createPacket?(pattern: unknown, data: unknown): { metadata?: unknown };
}

/** TCP and Redis, which have no headers of their own: Nest's packet has a place for what goes beside the data. */
export const packetMetadata: HeaderCarrier = {
  suits: (client) => 'socketClass' in client || 'pubClient' in client,
  members(client, header) {
    const { createPacket } = client as PacketClient;
    if (typeof createPacket !== 'function') return {};

    return {
      createPacket(pattern: unknown, data: unknown) {
        const packet = createPacket.call(client, pattern, data);
        const metadata = withHeader(undefined, header);
        if (metadata !== undefined) packet.metadata = { ...metadata, ...(packet.metadata as object | undefined) };

        return packet;
      },
    };
  },
};
