import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Post } from '@nestjs/common';
import { Idempotent } from '@nestjs/idempotency';
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import { Redis } from 'ioredis';
import { beforeEach, expect, it, vi } from 'vitest';
import { describeOn } from '../../../../tools/services/services.js';
import { newGate, type Gate } from '../fixtures/gate.js';
import { closeAfterEach, newKey, startApplication, type Application } from '../fixtures/http-application.js';
import { startProxy } from '../fixtures/proxy.js';
import { connectIoredis, type Connection } from '../fixtures/redis-clients.js';
import { closeAfterTest, connected, redisVerdict, startRedis } from '../fixtures/redis-server.js';
import { registering } from '../fixtures/stores.js';

/** A replica asks for its first copy when it sees fit. */
const PATIENCE = { timeout: 60_000 };

let runs: number;
let began: Gate;
let goOn: Gate;
let fails: boolean;
beforeEach(() => {
  runs = 0;
  began = newGate();
  goOn = newGate();
  fails = false;
});

@Controller()
class Charges {
  @Post('charges')
  @Idempotent({ lockTtl: '1.5s' })
  async charge(): Promise<{ runs: number }> {
    runs += 1;
    began.open();
    await goOn.opened;
    if (fails) throw new Error('declined by nobody');

    return { runs };
  }
}

function startOn(client: Connection['client']): Promise<Application> {
  return startApplication('express', {
    controllers: [Charges],
    providers: [registering(new RedisIdempotencyStore(client))],
    options: { storeTimeout: '500ms' },
  });
}

const typesOf = ({ events }: Application): string[] =>
  events.map((event) => (event.type === 'store-error' ? `store-error:${event.method}` : event.type));

describeOn(redisVerdict, 'While Redis is full', () => {
  closeAfterEach();

  async function start() {
    const { client, send } = await connected(connectIoredis, await startRedis('--maxmemory-policy', 'noeviction'));
    const fill = (): Promise<unknown> => send('CONFIG', 'SET', 'maxmemory', '1');
    const empty = (): Promise<unknown> => send('CONFIG', 'SET', 'maxmemory', '0');

    return { application: await startOn(client), fill, empty };
  }

  it('no new call runs, and one that is stored is replayed', async () => {
    const { application, fill, empty } = await start();
    goOn.open();
    const [stored, fresh] = [newKey(), newKey()];
    await application.call('/charges', stored);
    await fill();

    const refused = await application.call('/charges', fresh);
    expect([refused.status, refused.body, refused.headers['retry-after']]).toEqual([
      503,
      expect.objectContaining({ code: 'IDEMPOTENCY_STORE_UNAVAILABLE' }),
      '1',
    ]);
    expect(await application.call('/charges', stored)).toMatchObject({
      status: 201,
      body: { runs: 1 },
      replayed: true,
    });
    await empty();
    expect(await application.call('/charges', fresh)).toMatchObject({ status: 201, body: { runs: 2 } });
  });

  it('a call that runs keeps its lock, and its outcome is stored as soon as there is room', async () => {
    const { application, fill, empty } = await start();
    const key = newKey();
    const first = application.call('/charges', key);
    await began.opened;
    await fill();
    goOn.open();
    expect(await first).toMatchObject({ status: 201, body: { runs: 1 } });

    // Longer than the lock lives if nobody renews it.
    await sleep(2_000);
    expect((await application.call('/charges', key)).status).toBe(409);
    await empty();
    await vi.waitFor(async () => expect((await application.call('/charges', key)).replayed).toBe(true), 10_000);
    expect(new Set(typesOf(application))).toEqual(
      new Set(['executed', 'store-error:complete', 'rejected', 'stored', 'replayed']),
    );
    expect(runs).toBe(1);
  });

  it('a call that fails frees its key', async () => {
    const { application, fill, empty } = await start();
    const key = newKey();
    fails = true;
    const first = application.call('/charges', key);
    await began.opened;
    await fill();
    goOn.open();
    expect((await first).status).toBe(500);
    expect(typesOf(application)).toEqual(['executed', 'released']);

    await empty();
    fails = false;
    expect(await application.call('/charges', key)).toMatchObject({ status: 201, body: { runs: 2 } });
  });
});

describeOn(redisVerdict, 'When a replica takes over', () => {
  closeAfterEach();

  async function start() {
    const primary = await startRedis();
    const replica = await startRedis(
      '--replicaof',
      '127.0.0.1',
      `${primary.place.port}`,
      '--repl-diskless-sync-delay',
      '0',
    );
    const [ofPrimary, ofReplica] = [await connected(connectIoredis, primary), await connected(connectIoredis, replica)];
    await vi.waitFor(
      async () => expect(String(await ofReplica.send('INFO', 'replication'))).toContain('master_link_status:up'),
      20_000,
    );
    const address = await startProxy(primary.place.port);
    closeAfterTest(() => address.close());
    const client = new Redis({ port: address.port, host: '127.0.0.1', retryStrategy: () => 20 });
    client.on('error', () => {});
    closeAfterTest(() => client.disconnect());
    const replicated = (): Promise<unknown> => ofPrimary.send('WAIT', '1', '5000');
    const takeOver = async (): Promise<void> => {
      await primary.kill();
      await ofReplica.send('REPLICAOF', 'NO', 'ONE');
      address.turnTo(replica.place.port);
    };

    return {
      application: await startOn(client),
      primary,
      replica,
      ofPrimary,
      ofReplica,
      replicated,
      takeOver,
      address,
    };
  }

  it('what it has got is replayed, and the call that runs goes on under its lock', PATIENCE, async () => {
    const { application, replicated, takeOver } = await start();
    const [stored, running] = [newKey(), newKey()];
    goOn.open();
    await application.call('/charges', stored);
    goOn = newGate();
    began = newGate();
    const call = application.call('/charges', running);
    await began.opened;
    await replicated();
    await takeOver();

    expect((await application.call('/charges', running)).status).toBe(409);
    goOn.open();
    expect(await call).toMatchObject({ status: 201, body: { runs: 2 } });
    expect(await application.call('/charges', running)).toMatchObject({ body: { runs: 2 }, replayed: true });
    expect(await application.call('/charges', stored)).toMatchObject({ body: { runs: 1 }, replayed: true });
    expect(runs).toBe(2);
  });

  it('a lock that it has not got is taken anew for the call that runs', PATIENCE, async () => {
    const { application, ofReplica, takeOver } = await start();
    await ofReplica.send('REPLICAOF', 'NO', 'ONE');
    const key = newKey();
    const call = application.call('/charges', key);
    await began.opened;
    await takeOver();

    await vi.waitFor(() => expect(application.log.warnings.join()).toContain('was taken anew'), 5_000);
    expect((await application.call('/charges', key)).status).toBe(409);
    goOn.open();
    expect(await call).toMatchObject({ status: 201 });
    expect(await application.call('/charges', key)).toMatchObject({ body: { runs: 1 }, replayed: true });
  });

  it('an outcome waits for a server that may be written to', PATIENCE, async () => {
    const { application, ofReplica, replica, replicated, address } = await start();
    const key = newKey();
    const call = application.call('/charges', key);
    await began.opened;
    await replicated();
    // The old primary is gone for its clients before the replica has been told.
    address.turnTo(replica.place.port);
    goOn.open();
    expect(await call).toMatchObject({ status: 201 });
    expect((await application.call('/charges', key)).status).toBe(409);
    expect((await application.call('/charges', newKey())).status).toBe(503);

    await ofReplica.send('REPLICAOF', 'NO', 'ONE');
    await vi.waitFor(async () => expect((await application.call('/charges', key)).replayed).toBe(true), 10_000);
    expect(runs).toBe(1);
  });
});
