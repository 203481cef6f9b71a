import type { Server } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { openKeyDatabase, type KeyDatabase } from './keys/key-database.js';
import { KeyStoreError, keyStoreSettings } from './keys/key-store-settings.js';
import { reportListening } from './launch/parent.js';
import { exitWith, portFrom, refusePort } from './launch/port.js';
import { ServedModule } from './served.module.js';

async function bootstrap(): Promise<void> {
  const port = portFrom('PORT', 3000);
  const messagePort = portFrom('MESSAGE_PORT', 3001);
  const keys = await openKeys();
  const app = await NestFactory.create(ServedModule.withKeysIn(keys));
  app.enableShutdownHooks();
  const messages = app.connectMicroservice<MicroserviceOptions>(
    { transport: Transport.TCP, options: { port: messagePort } },
    { inheritAppConfig: true },
  );

  await app
    .startAllMicroservices()
    .catch((error: unknown) => refusePort(error, { variable: 'MESSAGE_PORT', port: messagePort }));
  await app.listen(port).catch((error: unknown) => refusePort(error, { variable: 'PORT', port }));

  const server = app.getHttpServer() as Server;
  reportListening({ port: portOf(server), messagePort: portOf(messages.unwrap<TcpServer>()), keys: keys.place });
}

async function openKeys(): Promise<KeyDatabase> {
  try {
    return await openKeyDatabase(keyStoreSettings(process.env));
  } catch (error) {
    if (error instanceof KeyStoreError) return exitWith(error.message);
    throw error;
  }
}

function portOf(server: TcpServer): number {
  return (server.address() as AddressInfo).port;
}

await bootstrap();
