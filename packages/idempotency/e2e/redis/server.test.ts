import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type Provider } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { expect, it, vi, type MockInstance } from 'vitest';
import { RedisIdempotencyStore, type RedisClient } from '@nestjs/idempotency/redis';
import { idempotencyStoreContract, type IdempotencyStore } from '@nestjs/idempotency/testing';
import type { PrivateProcess } from '../../../../tools/services/private-process.js';
import { describeOn } from '../../../../tools/services/services.js';
import { connectIoredis, connectNodeRedis } from '../fixtures/redis-clients.js';
import { ACQUIRE, COMPLETE, EXTEND, RELEASE } from '../../src/stores/redis/scripts.js';
import { SlowProxy } from '../../proof/store/slow-proxy.js';
import { closeAfterTest, connected, redisVerdict, startRedis } from '../fixtures/redis-server.js';

const HOUR = 3_600_000;
const ANSWER = { status: 201, headers: {}, body: { id: 1 } };

const BOTH = [
  ['ioredis', connectIoredis],
  ['node-redis', connectNodeRedis],
] as const;

/** A call of its own under a key. */
const acquire = (store: IdempotencyStore, key: string, owner: string = randomUUID()) =>
  store.acquire(key, owner, 'print', HOUR);

describeOn(redisVerdict, 'The store and its Redis:', () => {
  /** What the server is sent by clients, without what scripts do inside. */
  async function watch({ place }: PrivateProcess): Promise<string[]> {
    const seen: string[] = [];
    const client = new Redis({ port: place.port });
    const monitor = await client.monitor();
    monitor.on('monitor', (_time: string, [command]: string[], source: string) => {
      if (source !== 'lua') seen.push(command!.toLowerCase());
    });
    closeAfterTest(() => {
      monitor.disconnect();
      client.disconnect();
    });

    return seen;
  }

  /** Until the server has told of everything so far. */
  async function settled(seen: string[]): Promise<readonly string[]> {
    await sleep(50);
    const commands = seen.filter((command) => command.startsWith('eval'));
    seen.length = 0;

    return commands;
  }

  it.each(BOTH)('a first run and its answer are two commands over %s, and a replay is one', async (_name, connect) => {
    const server = await startRedis();
    const store = new RedisIdempotencyStore((await connected(connect, server)).client);
    const seen = await watch(server);
    const run = async (key: string): Promise<void> => {
      await store.acquire(key, 'owner', 'print', HOUR);
      await store.complete(key, 'owner', ANSWER, HOUR);
    };

    await run('first');
    expect(await settled(seen)).toEqual(['evalsha', 'eval', 'evalsha', 'eval']);
    await run('second');
    expect(await settled(seen)).toEqual(['evalsha', 'evalsha']);
    expect(await acquire(store, 'second')).toMatchObject({ state: 'completed', response: ANSWER });
    expect(await settled(seen)).toEqual(['evalsha']);
  });

  it.each(BOTH)('scripts that are flushed amid 16 callers change nothing, over %s', async (_name, connect) => {
    const server = await startRedis();
    const connection = await connected(connect, server);
    const store = new RedisIdempotencyStore(connection.client);
    for (let round = 0; round < 40; round++) {
      const owners = Array.from({ length: 16 }, () => randomUUID());
      const racing = owners.map((owner) => acquire(store, `key-${round}`, owner));
      await connection.send('SCRIPT', 'FLUSH');
      const results = await Promise.all([...racing, acquire(store, `key-${round}`)]);
      const winners = owners.filter((_, index) => results[index]!.state === 'acquired');

      expect(winners).toHaveLength(1);
      await connection.send('SCRIPT', 'FLUSH');
      expect(await store.complete(`key-${round}`, winners[0]!, ANSWER, HOUR)).toBe(true);
    }
  });

  it.each(BOTH)('a server that was killed and is back, with nothing, is used again over %s', async (_name, connect) => {
    const server = await startRedis();
    const store = new RedisIdempotencyStore((await connected(connect, server)).client);
    expect(await acquire(store, 'key')).toEqual({ state: 'acquired' });

    await server.kill();
    await server.start();

    expect(await vi.waitFor(() => acquire(store, 'key'), { timeout: 5_000 })).toEqual({ state: 'acquired' });
    expect(await acquire(store, 'key')).toMatchObject({ state: 'in-flight' });
  });

  it('a call that the client sends twice, since its connection broke, gets the same answer twice', async () => {
    const { client } = await connected(connectIoredis, await startRedis());
    const real = client as Redis;
    const twice = {
      eval: (...words: Parameters<Redis['eval']>) => real.eval(...words),
      evalsha: async (...words: Parameters<Redis['evalsha']>) => {
        await real.evalsha(...words);
        return real.evalsha(...words);
      },
    } as RedisClient;
    const store = new RedisIdempotencyStore(twice);
    const owner = randomUUID();
    await new RedisIdempotencyStore(client).acquire('other', owner, 'print', HOUR);
    await new RedisIdempotencyStore(client).complete('other', owner, ANSWER, HOUR);

    expect(await acquire(store, 'key', owner)).toEqual({ state: 'acquired' });
    expect(await acquire(store, 'key', owner)).toEqual({ state: 'in-flight', fingerprint: 'print' });
    expect(await store.complete('key', owner, ANSWER, HOUR)).toBe(true);
    expect(await store.complete('key', owner, { ...ANSWER, status: 500 }, HOUR)).toBe(false);
    expect(await acquire(store, 'key')).toMatchObject({ state: 'completed', response: ANSWER });
    await acquire(store, 'freed', owner);
    expect(await store.extend('freed', owner, HOUR)).toBe(true);
    expect(await store.release('freed', owner)).toBe(true);
    expect(await store.release('freed', owner)).toBe(false);
  });

  /** Lets a server do what it is asked for and loses its answer, with the connection. */
  async function losesAnswer(proxy: SlowProxy, call: () => Promise<unknown>, isDone: () => Promise<boolean>) {
    proxy.delay = 100;
    const asked = call();
    while (!(await isDone())) await sleep(5);
    proxy.cut();
    proxy.delay = 0;

    return asked;
  }

  it.each([false, true])(
    'a lock is released, its answer is lost, and its owner is told so all the same, also when somebody has the key by then (%s)',
    async (isTaken) => {
      const server = await startRedis();
      const proxy = await SlowProxy.start(server.place.port);
      closeAfterTest(() => proxy.stop());
      const { client, close } = await connectIoredis(proxy.port);
      closeAfterTest(close);
      const store = new RedisIdempotencyStore(client);
      const others = new RedisIdempotencyStore((await connected(connectIoredis, server)).client);
      await acquire(store, 'key', 'owner');
      const isDone = async (): Promise<boolean> => {
        if (isTaken) return (await acquire(others, 'key', 'next')).state === 'acquired';
        return !(await others.extend('key', 'owner', HOUR));
      };

      expect(await losesAnswer(proxy, () => store.release('key', 'owner'), isDone)).toBe(true);
      expect(await store.release('key', 'owner')).toBe(false);
      expect((await acquire(others, 'key')).state).toBe(isTaken ? 'in-flight' : 'acquired');
    },
  );

  it('an answer is stored, its own answer is lost, and its owner is told that it is stored', async () => {
    const server = await startRedis();
    const proxy = await SlowProxy.start(server.place.port);
    closeAfterTest(() => proxy.stop());
    const { client, close } = await connectIoredis(proxy.port);
    closeAfterTest(close);
    const store = new RedisIdempotencyStore(client);
    const others = new RedisIdempotencyStore((await connected(connectIoredis, server)).client);
    await acquire(store, 'key', 'owner');
    const isDone = async (): Promise<boolean> => (await acquire(others, 'key')).state === 'completed';

    expect(await losesAnswer(proxy, () => store.complete('key', 'owner', ANSWER, HOUR), isDone)).toBe(true);
  });

  it('of a key that was freed is known which call has freed it, for half a minute and no longer', async () => {
    const { client, send } = await connected(connectIoredis, await startRedis());
    const store = new RedisIdempotencyStore(client);
    await acquire(store, 'key', 'owner');
    await store.release('key', 'owner');

    expect(await send('HGETALL', 'idem:key')).toEqual(['state', 'free', 'freed', expect.any(String)]);
    expect(Number(await send('PTTL', 'idem:key'))).toBeLessThanOrEqual(30_000);
    await acquire(store, 'key', 'next');
    await store.complete('key', 'next', ANSWER, HOUR);
    expect(await send('HGET', 'idem:key', 'freed')).toBeNull();
  });

  it('a connection that breaks before the answer came leaves no lock that its own caller cannot have', async () => {
    const server = await startRedis();
    const { client } = await connected(connectIoredis, server);
    const admin = await connected(connectIoredis, server);
    const store = new RedisIdempotencyStore(client);
    await acquire(store, 'warm');
    const [id] = [String(await (client as Redis).client('ID'))];

    // The server does the work, and the connection is gone before the answer is read.
    await admin.send('CLIENT', 'PAUSE', '200', 'WRITE');
    const call = acquire(store, 'key', 'owner');
    await sleep(50);
    const broken = (client as Redis).stream;
    broken.pause();
    await sleep(300);
    await admin.send('CLIENT', 'KILL', 'ID', id);
    broken.destroy();

    expect(await admin.send('HGET', 'idem:key', 'owner')).toBe('owner');
    expect(await call).toEqual({ state: 'acquired' });
  });

  it('a key is a hash that ends by itself', async () => {
    const { client, send } = await connected(connectIoredis, await startRedis());
    const store = new RedisIdempotencyStore(client, { keyPrefix: 'shop:' });
    await store.acquire('a:key', 'owner', 'print', HOUR);

    expect(await send('HGETALL', 'shop:a:key')).toEqual(
      expect.arrayContaining(['state', 'in-flight', 'fp', 'print', 'owner', 'owner']),
    );
    await store.complete('a:key', 'owner', ANSWER, 2 * HOUR);
    expect(await send('HMGET', 'shop:a:key', 'state', 'fp', 'owner', 'resp')).toEqual([
      'completed',
      'print',
      null,
      JSON.stringify(ANSWER),
    ]);
    expect(Number(await send('PTTL', 'shop:a:key'))).toBeGreaterThan(2 * HOUR - 60_000);
    expect(Number(await send('PTTL', 'shop:a:key'))).toBeLessThanOrEqual(2 * HOUR);
  });

  it("a process whose clock is a minute ahead, or behind, changes nothing: Redis's clock counts", async () => {
    const { client } = await connected(connectIoredis, await startRedis());
    const store = new RedisIdempotencyStore(client);
    for (const [index, offset] of [60_000, -60_000].entries()) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offset });
      closeAfterTest(() => vi.useRealTimers());
      await store.acquire(`key-${index}`, 'owner', 'print', 400);
      vi.useRealTimers();
      expect(await acquire(store, `key-${index}`)).toMatchObject({ state: 'in-flight' });
      await sleep(450);
      expect(await acquire(store, `key-${index}`)).toEqual({ state: 'acquired' });
    }
  });

  it.each([
    [ACQUIRE, ['other', 'new', '1000', 'call'], ['acquired']],
    [COMPLETE, ['owner', '{}', '1000', 'call'], 'no'],
    [EXTEND, ['owner', '1000'], 'no'],
    [RELEASE, ['owner', 'call'], 'no'],
  ] as const)('a lock is over at its very millisecond: $name', async (script, values, expected) => {
    const client = (await connected(connectIoredis, await startRedis())).client as Redis;
    // Redis itself keeps a key for that millisecond. Of very many calls, some fall into it.
    const atTheEnd = `local left = redis.call('PTTL', KEYS[1])
      if left ~= 0 then return left > 0 and 'early' or 'late' end
      ${script.source}`;
    const hit = async (lifeMs: number): Promise<unknown> => {
      await client.hset('key', { state: 'in-flight', fp: 'print', owner: 'owner', call: 'first' });
      await client.pexpire('key', lifeMs);
      const calls = client.pipeline();
      for (let call = 0; call < 500; call++) calls.eval(atTheEnd, 1, 'key', ...values);
      const replies = (await calls.exec())!.map(([, reply]) => reply);

      return replies.find((reply) => reply !== 'early');
    };

    let reply: unknown = 'late';
    const until = performance.now() + 4_000;
    // How many calls go into a millisecond is for the machine to say: some life ends among them.
    for (let round = 0; performance.now() < until && (reply === 'late' || reply === undefined); round++) {
      reply = await hit(1 + (round % 5));
    }

    expect(reply).toEqual(expected);
  });

  it('what something else has written under a key is an error, and stays as it is', async () => {
    const { client, send } = await connected(connectIoredis, await startRedis());
    const store = new RedisIdempotencyStore(client);
    await send('SET', 'idem:key', 'theirs');

    await expect(acquire(store, 'key')).rejects.toThrow(/WRONGTYPE/);
    await expect(store.release('key', 'owner')).rejects.toThrow(/WRONGTYPE/);
    expect(await send('GET', 'idem:key')).toBe('theirs');
  });

  it('a full server refuses a lock, frees one, and what is stored stays', async () => {
    const { client, send } = await connected(connectIoredis, await startRedis());
    const store = new RedisIdempotencyStore(client);
    await store.acquire('kept', 'owner', 'print', HOUR);
    await store.complete('kept', 'owner', ANSWER, HOUR);
    await acquire(store, 'held', 'owner');
    await send('CONFIG', 'SET', 'maxmemory', '1');

    await expect(acquire(store, 'key')).rejects.toThrow(/OOM/);
    expect(await store.release('held', 'owner')).toBe(true);
    await send('CONFIG', 'SET', 'maxmemory', '0');
    expect(await acquire(store, 'kept')).toMatchObject({ state: 'completed', response: ANSWER });
    expect(await acquire(store, 'key')).toEqual({ state: 'acquired' });
  });
});

describeOn(redisVerdict, 'The store in a cluster', () => {
  async function startCluster(): Promise<PrivateProcess> {
    const server = await startRedis('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1');
    const admin = await connected(connectIoredis, server);
    await admin.send('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await vi.waitFor(async () => expect(await admin.send('CLUSTER', 'INFO')).toContain('cluster_state:ok'), {
      timeout: 10_000,
    });

    return server;
  }

  const keepsTheContract = async (client: RedisClient): Promise<void> => {
    const cases = idempotencyStoreContract(() => new RedisIdempotencyStore(client), {
      concurrent: true,
      lockTime: '1.5s',
    });
    await Promise.all(cases.map(({ run }) => run()));
  };

  it('keeps the contract over ioredis', { timeout: 30_000 }, async () => {
    const { place } = await startCluster();
    const cluster = new Cluster([{ host: '127.0.0.1', port: place.port }]);
    closeAfterTest(() => cluster.disconnect());

    await keepsTheContract(cluster);
    expect(await new RedisIdempotencyStore(cluster).checkEviction()).toBe('noeviction');
  });

  it('keeps the contract over node-redis', { timeout: 30_000 }, async () => {
    const { place } = await startCluster();
    const cluster = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${place.port}` }] });
    await cluster.connect();
    closeAfterTest(() => cluster.destroy());

    await keepsTheContract(cluster);
    expect(await new RedisIdempotencyStore(cluster).checkEviction()).toBe('noeviction');
  });

  it('spreads keys over its slots, also those with the same text in braces', async () => {
    const server = await startCluster();
    const { client, send } = await connected(connectIoredis, server);
    const store = new RedisIdempotencyStore(client);
    for (let index = 0; index < 20; index++) await acquire(store, `{user}:${index}`);
    const names = (await send('KEYS', 'idem:*')) as string[];
    const slots = await Promise.all(names.map((name) => send('CLUSTER', 'KEYSLOT', name)));

    expect(names).toHaveLength(20);
    expect(new Set(slots).size).toBeGreaterThan(15);
  });
});

describeOn(redisVerdict, 'A Redis that may evict', () => {
  const warnings = (): MockInstance => vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});

  async function boot(client: RedisClient, checkEviction?: boolean): Promise<void> {
    const store: Provider = {
      provide: RedisIdempotencyStore,
      useFactory: () => new RedisIdempotencyStore(client, { checkEviction }),
    };
    const module = await Test.createTestingModule({ providers: [store] }).compile();
    closeAfterTest(() => module.close());
    await module.init();
  }

  it.each(BOTH)('is warned of when the application starts, over %s', async (_name, connect) => {
    const warn = warnings();
    const server = await startRedis('--maxmemory', '100mb', '--maxmemory-policy', 'volatile-lru');
    await boot((await connected(connect, server)).client);

    await vi.waitFor(() => expect(warn).toHaveBeenCalled());
    expect(warn.mock.calls).toEqual([
      [
        'Redis may drop idempotency records when its memory is full, and their calls would run twice: its ' +
          'maxmemory-policy is volatile-lru. Set it to noeviction, or give idempotency a Redis of its own.',
      ],
    ]);
  });

  it('is not warned of when it may not, or when nobody wants to know', async () => {
    const warn = warnings();
    const sound = await connected(connectIoredis, await startRedis('--maxmemory-policy', 'noeviction'));
    const evicting = await connected(connectIoredis, await startRedis('--maxmemory-policy', 'allkeys-lru'));
    await boot(sound.client);
    await boot(evicting.client, false);
    expect(await new RedisIdempotencyStore(sound.client).checkEviction()).toBe('noeviction');
    await sleep(100);

    expect(warn).not.toHaveBeenCalled();
  });

  it('is warned of as something unknown where the user may not ask', async () => {
    const warn = warnings();
    const server = await startRedis('--maxmemory-policy', 'allkeys-lru');
    const admin = await connected(connectIoredis, server);
    await admin.send('ACL', 'SETUSER', 'shop', 'on', '>secret', '~idem:*', '+@all', '-@dangerous', '-@admin');
    const client = new Redis({
      port: server.place.port,
      username: 'shop',
      password: 'secret',
      enableReadyCheck: false,
    });
    closeAfterTest(() => client.disconnect());
    await boot(client);

    await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
    expect(warn.mock.calls[0]![0]).toMatch(
      /^Whether Redis may drop idempotency records could not be found out \(.+\)\. See that its maxmemory-policy is noeviction, and set checkEviction: false\.$/s,
    );
    expect(await acquire(new RedisIdempotencyStore(client), 'key')).toEqual({ state: 'acquired' });
  });

  it('does not hold up an application that starts while it is away', async () => {
    const warn = warnings();
    const server = await startRedis();
    await server.kill();
    const client = new Redis({ port: server.place.port, maxRetriesPerRequest: null });
    client.on('error', () => {});
    await boot(client);
    expect(warn).not.toHaveBeenCalled();

    const call = acquire(new RedisIdempotencyStore(client), 'key');
    client.disconnect();
    await expect(call).rejects.toThrow('Connection is closed.');
    await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
  });
});
