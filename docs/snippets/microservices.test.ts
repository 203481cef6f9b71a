import { readFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import type { INestMicroservice } from '@nestjs/common';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { ResilienceModule, TimeoutPolicy } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { lastValueFrom, NEVER } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scriptCarrier } from './carrier.js';
import { OrderEvents, QuotesHandlers, Warehouse } from './microservices.js';

const PRESETS = {
  carrier: { timeout: '50ms', retry: { attempts: 2, backoff: { delay: 1 } } },
} as const;

let app: INestMicroservice;
let client: ClientProxy;

const ask = (pattern: string): Promise<unknown> => lastValueFrom(client.send<unknown>(pattern, '1001'));

beforeEach(async () => {
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot({ presets: PRESETS })],
    controllers: [QuotesHandlers],
  }).compile();
  app = moduleRef.createNestMicroservice({ transport: Transport.TCP, options: { port: 0 }, logger: false });
  await app.listen();
  const { port } = app.unwrap<Server>().address() as AddressInfo;
  client = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
});
afterEach(async () => {
  client.close();
  await app.close();
});

describe('the page on microservices shows', () => {
  it('what the caller of a message gets when the time is up, after one attempt', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const shown: unknown = JSON.parse(readFileSync(new URL('shown/message-timeout.json', import.meta.url), 'utf8'));

    await expect(ask('quotes')).rejects.toStrictEqual(shown);
    expect(carrier.calls).toHaveLength(1);
  });

  it('a handler that opts in, with more attempts than its preset', async () => {
    const carrier = scriptCarrier([{ hang: true }]);

    await expect(ask('quotes.again')).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(carrier.calls).toHaveLength(3);
  });

  it('a delivery that is acknowledged by the attempt that succeeds', async () => {
    scriptCarrier([{ hang: true }]);
    const ack = vi.fn();
    const context = { getChannelRef: () => ({ ack }), getMessage: () => 'delivery' };
    const attempt = new TimeoutPolicy('10ms').execute(({ signal }) =>
      new OrderEvents().onPlaced('1001', context as never, signal),
    );

    await expect(attempt).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(ack).not.toHaveBeenCalled();
  });

  it('a client whose calls end with their attempt', async () => {
    const warehouse = new Warehouse({ send: () => NEVER, emit: () => NEVER } as unknown as ClientProxy);

    await expect(new TimeoutPolicy('10ms').execute(() => warehouse.stock('cat-food'))).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
  });
});
