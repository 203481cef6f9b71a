import { readFileSync } from 'node:fs';
import { TimeoutPolicy } from '@nestjs/resilience';
import { Observable } from 'rxjs';
import { describe, vi } from 'vitest';
import { Warehouse, WarehouseModule } from './microservices.js';
// #region testing
import type { AddressInfo, Server } from 'node:net';
import type { INestMicroservice } from '@nestjs/common';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { lastValueFrom } from 'rxjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { scriptCarrier } from './carrier.js';
import { QuotesHandlers } from './microservices.js';

let app: INestMicroservice;
let client: ClientProxy;

beforeEach(async () => {
  const carrier = { timeout: '50ms', retry: { attempts: 2, backoff: { delay: 1 } } } as const;
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot({ presets: { carrier } })],
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

const ask = (pattern: string): Promise<unknown> => lastValueFrom(client.send<unknown>(pattern, '1001'));

it('tells the caller when the time is up, after the three attempts that the handler asks for', async () => {
  const carrier = scriptCarrier([{ hang: true }]);

  await expect(ask('quotes.again')).rejects.toMatchObject({ code: 'TIMEOUT', statusCode: 504 });
  expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled']);
});
// #endregion

describe('the page on microservices shows', () => {
  it('what the caller of a message gets when the time is up, after one attempt', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const shown: unknown = JSON.parse(readFileSync(new URL('shown/message-timeout.json', import.meta.url), 'utf8'));

    await expect(ask('quotes')).rejects.toStrictEqual(shown);
    expect(carrier.calls).toHaveLength(1);
  });

  it('a client, as its module wires it, whose calls end with their attempt', async () => {
    const unsubscribed = vi.fn();
    const moduleRef = await Test.createTestingModule({ imports: [WarehouseModule] })
      .overrideProvider('WAREHOUSE')
      .useValue({ send: () => new Observable(() => unsubscribed), emit: vi.fn() })
      .compile();
    const warehouse = moduleRef.get(Warehouse);

    await expect(new TimeoutPolicy('10ms').execute(() => warehouse.stock('cat-food'))).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
    expect(unsubscribed).toHaveBeenCalledOnce();
    await moduleRef.close();
  });
});
