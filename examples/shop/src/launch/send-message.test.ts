import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { sendMessage } from './send-message.js';

describe('Sending a message', () => {
  it('fails with the reason of the connection where nobody listens, which is no payload', async () => {
    const server = createServer().listen(0, 'localhost');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => void server.close(resolve));

    await expect(sendMessage(port, 'shipping.quotes', {})).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
