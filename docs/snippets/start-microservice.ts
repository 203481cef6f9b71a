import type { AddressInfo, Server } from 'node:net';
import type { Type } from '@nestjs/common';
import { ClientProxyFactory, type ClientProxy, type MicroserviceOptions } from '@nestjs/microservices';
import { ResilienceModule, type ResilienceModuleOptions } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';

/** A microservice that listens, and a client of its transport. */
export interface Started {
  readonly client: ClientProxy;
  close(): Promise<void>;
}

const started: Started[] = [];

/** The `beforeEach` of a test of handlers, on any transport. */
export async function start(
  options: MicroserviceOptions,
  handlers: Type,
  resilience: ResilienceModuleOptions = {},
): Promise<Started> {
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot(resilience)],
    controllers: [handlers],
  }).compile();
  const app = moduleRef.createNestMicroservice({ ...options, logger: false });
  await app.listen();
  const client = ClientProxyFactory.create(forClient(options, () => app.unwrap<Server>()));
  const one: Started = {
    client,
    async close() {
      await client.close();
      await app.close();
    },
  };
  started.push(one);

  return one;
}

/** Its `afterEach`. */
export async function closeAll(): Promise<void> {
  await Promise.all(started.splice(0).map((one) => one.close()));
}

type ClientOptions = Parameters<typeof ClientProxyFactory.create>[0];

/** Over TCP the port that the server has found; over RabbitMQ without acknowledgements, which its answers do not take. */
function forClient(options: MicroserviceOptions, server: () => Server): ClientOptions {
  if (!('options' in options)) return options as ClientOptions;

  const { noAck: _, ...own } = options.options as Readonly<Record<string, unknown>>;
  const port = own['port'] === 0 ? { port: (server().address() as AddressInfo).port } : {};
  return { ...options, options: { ...own, ...port } } as ClientOptions;
}
