import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';

/**
 * Sends a message over TCP, as another service would. Resolves to the reply, or to the payload of a failure; rejects with an
 * `Error` where nobody listens on the port.
 */
export async function sendMessage(port: number, pattern: string, data: unknown): Promise<unknown> {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
  try {
    return await lastValueFrom(client.send<unknown>(pattern, data));
  } catch (failure) {
    if (failure instanceof Error) throw failure;

    return failure;
  } finally {
    client.close();
  }
}
