import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { reportListening } from './launch/parent.js';
import { portFrom, refusePort } from './launch/port.js';

async function bootstrap(): Promise<void> {
  const port = portFrom('PORT', 3000);
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();

  await app.listen(port).catch((error: unknown) => refusePort(error, { variable: 'PORT', port }));

  const server = app.getHttpServer() as Server;
  reportListening((server.address() as AddressInfo).port);
}

await bootstrap();
