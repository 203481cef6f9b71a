import type { AddressInfo, Server } from 'node:net';
import type { INestApplicationContext } from '@nestjs/common';

/** Prints the port, and closes the application when its input ends. */
export function serve(app: INestApplicationContext, server: Server): void {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  process.stdin.on('end', () => void app.close()).resume();
}
