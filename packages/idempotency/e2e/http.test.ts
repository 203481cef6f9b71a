import { Body, Controller, HttpException, Post } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Idempotent, IdempotencyModule } from '../src/index.js';

let runs = 0;

@Controller('payments')
@Idempotent({ required: true })
class Payments {
  @Post()
  create(@Body() body: { amount: number }): object {
    runs += 1;
    if (body.amount < 0) throw new HttpException({ message: 'no' }, 402);
    if (body.amount === 0) throw new Error('broken');
    return { id: runs, at: new Date(0), big: 10n.toString() };
  }
}

let close: () => Promise<void> = async () => {};
afterEach(() => close());

describe.each(['express', 'fastify'])('A protected handler on %s', (adapter) => {
  async function start(): Promise<(key: string | undefined, body: object) => Promise<Response>> {
    const module = await Test.createTestingModule({
      imports: [IdempotencyModule.forRoot()],
      controllers: [Payments],
    })
      .setLogger(false as never)
      .compile();
    const app = (
      adapter === 'express'
        ? module.createNestApplication({ logger: false })
        : module.createNestApplication(new FastifyAdapter(), { logger: false })
    ) as NestExpressApplication;
    await app.listen(0, '127.0.0.1');
    close = () => app.close();
    runs = 0;
    const { port } = app.getHttpServer().address() as AddressInfo;
    return (key, body) =>
      fetch(`http://127.0.0.1:${port}/payments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
        body: JSON.stringify(body),
      });
  }

  it('answers a repeated request with what the first one got', async () => {
    const post = await start();
    const first = await post('"k1"', { amount: 1 });
    const again = await post('k1', { amount: 1 });
    expect([first.status, again.status, await again.text(), runs]).toEqual([201, 201, await first.text(), 1]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const other = await post('k1', { amount: 2 });
    expect([other.status, await other.json()]).toEqual([
      422,
      { statusCode: 422, error: 'Unprocessable Entity', code: 'IDEMPOTENCY_KEY_REUSED', message: expect.any(String) },
    ]);
    const none = await post(undefined, { amount: 2 });
    expect(await none.json()).toMatchObject({ code: 'IDEMPOTENCY_KEY_REQUIRED' });
    const declined = await post('k2', { amount: -1 });
    const declinedAgain = await post('k2', { amount: -1 });
    expect([declined.status, declinedAgain.status, await declinedAgain.text()]).toEqual([
      402,
      402,
      await declined.text(),
    ]);
    expect((await post('k3', { amount: 0 })).status).toBe(500);
    expect((await post('k3', { amount: 0 })).headers.get('idempotent-replayed')).toBeNull();
    expect(runs).toBe(4);
  });
});
