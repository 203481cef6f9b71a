import 'reflect-metadata';
import { createRequire } from 'node:module';
import type { AddressInfo, Server } from 'node:net';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { Transport } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { IdempotencyModule } from '@nestjs/idempotency';
import { ResilienceModule, ResilienceService } from '@nestjs/resilience';
import { HttpQuotes, MessageQuotes, QuotesGateway, QuotesResolver } from './entrypoints.js';
import { LibraryController, LibraryResolver } from './library/library.js';
import { EventCounts } from './event-counts.js';

/** Prints where copies lie, what was warned of and the ports; closes when its input ends. */

const PACKAGES = ['holdfast', '@nestjs/microservices', '@nestjs/websockets', 'graphql'];

const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({
  driver: ApolloDriver,
  autoSchemaFile: true,
  playground: false,
});

@Module({
  imports: [IdempotencyModule.forRoot(), ResilienceModule.forRoot(), graphql],
  controllers: [HttpQuotes, MessageQuotes, LibraryController],
  providers: [LibraryResolver, QuotesResolver, QuotesGateway, EventCounts],
})
class AppModule {}

const warnings: string[] = [];
const complain = (message: unknown): void => void process.stderr.write(`${String(message)}\n`);
const logger = { log: () => {}, warn: (message: unknown) => void warnings.push(String(message)), error: complain };

/** The files by which the packages are entered from a file. */
function entriesFrom(file: string): Record<string, string> {
  const { resolve } = createRequire(file);

  return Object.fromEntries(PACKAGES.map((name) => [name, resolve(name)]));
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const app = await NestFactory.create(AppModule, { logger });
app.useWebSocketAdapter(new WsAdapter(app));
const options = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } } as const;
const microservice = app.connectMicroservice(options, { inheritAppConfig: true });
await app.startAllMicroservices();
await app.listen(0, '127.0.0.1');
app.get(ResilienceService).circuitBreaker('open').trip();

const { resolve } = createRequire(import.meta.url);
const printed = {
  application: {
    ...entriesFrom(import.meta.url),
    '@nestjs/resilience': resolve('@nestjs/resilience'),
    '@nestjs/idempotency': resolve('@nestjs/idempotency'),
  },
  ours: entriesFrom(resolve('@nestjs/resilience')),
  library: entriesOfLibrary(),
  warnings,
  http: portOf(app.getHttpServer() as Server),
  tcp: portOf(microservice.unwrap<Server>()),
};
process.stdout.write(`${JSON.stringify(printed)}\n`);
process.stdin.on('end', () => void app.close()).resume();

function entriesOfLibrary(): Record<string, string> {
  const { resolve: resolveInLibrary } = createRequire(new URL('library/library.js', import.meta.url));

  return Object.fromEntries(
    ['holdfast', '@nestjs/resilience', '@nestjs/idempotency'].map((name) => [name, resolveInLibrary(name)]),
  );
}
