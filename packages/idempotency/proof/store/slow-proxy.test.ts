import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SlowProxy } from './slow-proxy.js';

it('A proxy that becomes fast again passes on what came before it first', async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await SlowProxy.start((server.address() as AddressInfo).port);
  const socket = connect(proxy.port, '127.0.0.1');
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));

  let sent = '';
  for (const delay of [40.9, 30.2, 20.7, 0]) {
    proxy.delay = delay;
    sent += `${delay};`;
    socket.write(`${delay};`);
    await pause(10);
  }
  await expect.poll(() => received).toBe(sent);

  const closed = once(socket, 'close');
  proxy.cut();
  await closed;
  proxy.stop();
  server.close();
});
