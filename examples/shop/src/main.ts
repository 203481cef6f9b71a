import type { Server } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { AppModule } from './app.module.js';
import { reportListening } from './launch/parent.js';
import { portFrom, refusePort } from './launch/port.js';

async function bootstrap(): Promise<void> {
  const port = portFrom('PORT', 3000);
  const messagePort = portFrom('MESSAGE_PORT', 3001);
  const app = await NestFactory.create(AppModule);
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
  reportListening({ port: portOf(server), messagePort: portOf(messages.unwrap<TcpServer>()) });
}

function portOf(server: TcpServer): number {
  return (server.address() as AddressInfo).port;
}

await bootstrap();
