import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { IdempotencyModule, IdempotencyStorage, type InMemoryIdempotencyStore } from '@nestjs/idempotency';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { AppModule as SealedModule } from './idempotency-encryption.js';
import { pay } from './idempotency-clients.js';
import { Bank, InvoiceJob, PaymentsModule, PayoutsController, Rates, UploadsController } from './idempotency.js';

const shown = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`shown/${name}.json`, import.meta.url), 'utf8'));

let app: INestApplication<Server>;

async function start(metadata: Parameters<typeof Test.createTestingModule>[0]): Promise<void> {
  const moduleRef = await Test.createTestingModule(metadata).compile();
  app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
}

const send = (path: string, body: object, key?: string) => {
  const sent = request(app.getHttpServer()).post(path);

  return (key === undefined ? sent : sent.set('Idempotency-Key', key)).send(body);
};

afterEach(async () => {
  await app.close();
  vi.unstubAllEnvs();
});

describe('the payments', () => {
  it('are made once for each key, which may not change its meaning and has to be there', async () => {
    await start({ imports: [PaymentsModule] });

    expect((await send('/payments', { amount: 5 }, 'a')).status).toBe(201);
    expect((await send('/payments', { amount: 5 }, 'a')).body).toEqual({ id: 'payment-1', amount: 5 });
    expect((await send('/payments', { amount: 6 }, 'a')).body).toEqual(shown('idempotency-reused'));
    expect((await send('/payments', { amount: 5 })).body).toMatchObject({ code: 'IDEMPOTENCY_KEY_REQUIRED' });
    expect(app.get(Bank).charged).toEqual([5]);
  });

  it('that run already are told so, and when to come back', async () => {
    await start({ imports: [PaymentsModule] });
    let answer = (_: { id: string; amount: number }): void => {};
    const charge = vi.spyOn(app.get(Bank), 'charge');
    charge.mockReturnValue(new Promise((resolve) => (answer = resolve)));
    const first = send('/payments', { amount: 5 }, 'a').then((response) => response.status);
    await vi.waitFor(() => expect(charge).toHaveBeenCalled());

    const { body, headers } = await send('/payments', { amount: 5 }, 'a');
    expect(body).toEqual(shown('idempotency-in-use'));
    expect(headers['retry-after']).toBe('1');
    answer({ id: 'payment-1', amount: 5 });
    expect(await first).toBe(201);
  });

  it('of a whole class leave out what only reads, and who opts out', async () => {
    await start({ imports: [PaymentsModule] });
    const refund = () => send('/refunds', { amount: 5 }, 'a');

    expect([(await refund()).body, (await refund()).body]).toEqual([
      { id: 'payment-1', amount: -5 },
      { id: 'payment-1', amount: -5 },
    ]);
    expect((await request(app.getHttpServer()).get('/refunds')).body).toEqual([-5]);
    expect((await send('/refunds/preview', { amount: 5 })).body).toEqual({ amount: -5 });
  });
});

describe('the job', () => {
  it('charges once, however often it is delivered', async () => {
    await start({ imports: [IdempotencyModule.forRoot()], providers: [Bank, InvoiceJob] });
    const collect = () => app.get(InvoiceJob).collect('job-1', { id: 'invoice-1', total: 20 });

    expect([await collect(), await collect()]).toEqual([
      { id: 'payment-1', amount: 20 },
      { id: 'payment-1', amount: 20 },
    ]);
    expect(app.get(Bank).charged).toEqual([20]);
  });
});

describe('uploads', () => {
  it('are told apart by their digest', async () => {
    await start({ imports: [IdempotencyModule.forRoot()], controllers: [UploadsController] });
    const upload = (digest: string) =>
      request(app.getHttpServer())
        .post('/uploads')
        .set({ 'Idempotency-Key': 'a', 'Content-Type': 'application/octet-stream', 'Content-Digest': digest })
        .send('bytes');

    const first = await upload('sha-256=:one:');
    expect((await upload('sha-256=:one:')).body).toEqual(first.body);
    expect((await upload('sha-256=:two:')).status).toBe(422);
  });
});

describe('a payout whose lock is lost', () => {
  it('gives up what it waits for, and is not made', async () => {
    await start({
      imports: [IdempotencyModule.forRoot({ lockTtl: '30ms' })],
      controllers: [PayoutsController],
      providers: [Rates, Bank],
    });
    const rates = vi.spyOn(app.get(Rates), 'today');
    rates.mockImplementation(
      (signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const answer = send('/payouts', { amount: 5 }, 'a').then(({ status }) => status);
    await vi.waitFor(() => expect(rates).toHaveBeenCalled());
    const store = app.get(IdempotencyStorage).source as InMemoryIdempotencyStore;
    store.clear();
    await store.acquire('a', 'another', 'print', 60_000);

    expect(await answer).toBe(409);
    expect(app.get(Bank).charged).toEqual([]);
  });

  it('is made while the lock is there', async () => {
    const imports = [IdempotencyModule.forRoot()];
    await start({ imports, controllers: [PayoutsController], providers: [Rates, Bank] });

    expect((await send('/payouts', { amount: 5 }, 'a')).body).toEqual({ id: 'payment-1', amount: 10 });
  });
});

describe('encryption', () => {
  it('takes its keys from the environment, and refuses to start with none', async () => {
    vi.stubEnv('IDEMPOTENCY_KEYS', 'n'.repeat(32) + ',' + 'o'.repeat(32));
    await start({ imports: [SealedModule] });

    vi.stubEnv('IDEMPOTENCY_KEYS', '');
    await expect(Test.createTestingModule({ imports: [SealedModule] }).compile()).rejects.toThrow('encryption.keys[0]');
  });
});

describe('the client', () => {
  it('repeats with the same key what may pass, and gets the payment', async () => {
    await start({ imports: [PaymentsModule] });
    const keys: unknown[] = [];
    const statuses = [503, 409];
    // Stands in front of the application, and answers twice on its own.
    const front = createServer((incoming, outgoing) => {
      keys.push(incoming.headers['idempotency-key']);
      outgoing.setHeader('content-type', 'application/json');
      const status = statuses.shift();
      if (status === undefined) return void outgoing.writeHead(201).end('{"id":"payment-1"}');
      outgoing.writeHead(status).end('{}');
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
    vi.stubEnv('PAYMENTS_URL', `http://127.0.0.1:${(front.address() as AddressInfo).port}`);

    expect(await pay(5, 'order-1')).toEqual({ id: 'payment-1' });
    expect(keys).toEqual(['"order-1"', '"order-1"', '"order-1"']);
    await new Promise((resolve) => void front.close(resolve));
  });

  it.each(['IDEMPOTENCY_RECORD_UNREADABLE', 'IDEMPOTENCY_SCOPE_MISSING'])(
    'does not repeat a 500 that stays one under its key: %s',
    async (code) => {
      await start({ imports: [PaymentsModule] });
      let asked = 0;
      const front = createServer((_incoming, outgoing) => {
        asked += 1;
        outgoing.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ statusCode: 500, code }));
      }).listen(0, '127.0.0.1');
      await once(front, 'listening');
      vi.stubEnv('PAYMENTS_URL', `http://127.0.0.1:${(front.address() as AddressInfo).port}`);

      await expect(pay(5, 'order-1')).rejects.toMatchObject({ status: 500, code });
      expect(asked).toBe(1);
      await new Promise((resolve) => void front.close(resolve));
    },
  );

  it('repeats a 500 that is no JSON, as of a proxy', async () => {
    await start({ imports: [PaymentsModule] });
    const statuses = [500, 201];
    const front = createServer((_incoming, outgoing) => {
      const status = statuses.shift() ?? 201;
      outgoing.writeHead(status).end(status === 201 ? '{"id":"payment-1"}' : '<h1>Bad</h1>');
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
    vi.stubEnv('PAYMENTS_URL', `http://127.0.0.1:${(front.address() as AddressInfo).port}`);

    expect(await pay(5, 'order-1')).toEqual({ id: 'payment-1' });
    expect(statuses).toEqual([]);
    await new Promise((resolve) => void front.close(resolve));
  });

  it('gives up at once where the key or the payment is at fault', async () => {
    await start({ imports: [PaymentsModule] });
    vi.stubEnv('PAYMENTS_URL', await app.getUrl());

    expect(await pay(5, 'order-1')).toMatchObject({ id: 'payment-1' });
    await expect(pay(6, 'order-1')).rejects.toMatchObject({ status: 422 });
  });
});
