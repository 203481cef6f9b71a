import { describe, expect, it, vi } from 'vitest';
import type { NodeRedisScriptInput, RedisClient } from './redis-client.js';
import { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from './redis-store.js';
import { ACQUIRE } from './scripts.js';

const ANSWER = { status: 200, headers: {}, body: 'done' };

/** A node-redis client that gives these replies, or throws these errors, one after the other. */
function scripted(...replies: readonly unknown[]) {
  const rest = [...replies];
  const answer = async (_text: string, _input: NodeRedisScriptInput): Promise<unknown> => {
    const reply = rest.shift();
    if (reply instanceof Error) throw reply;

    return reply;
  };

  return { evalSha: vi.fn(answer), eval: vi.fn(answer) };
}

const acquire = (client: RedisClient): Promise<unknown> =>
  new RedisIdempotencyStore(client).acquire('key', 'owner', 'print', 1_000);

describe('The store in Redis sends a script', () => {
  it('by its hash, with one key and texts', async () => {
    const client = scripted(['acquired']);

    expect(await acquire(client)).toEqual({ state: 'acquired' });
    expect(client.evalSha).toHaveBeenCalledExactlyOnceWith(ACQUIRE.sha1, {
      keys: ['idem:key'],
      arguments: ['owner', 'print', '1000', expect.stringMatching(/^[0-9a-f-]{36}:1$/) as string],
    });
    expect(client.eval).not.toHaveBeenCalled();
  });

  it('in full when the server does not know it, as the same call', async () => {
    const client = scripted(new Error('NOSCRIPT No matching script. Please use EVAL.'), ['acquired']);

    expect(await acquire(client)).toEqual({ state: 'acquired' });
    expect(client.eval).toHaveBeenCalledExactlyOnceWith(ACQUIRE.source, client.evalSha.mock.calls[0]![1]);
  });

  it.each([
    'READONLY You cannot write against a read only replica.',
    'OOM command not allowed when used memory > maxmemory.',
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'Connection is closed.',
  ])('once only when the server says: %s', async (message) => {
    const error = new Error(message);
    const client = scripted(error);

    await expect(acquire(client)).rejects.toBe(error);
    expect(client.evalSha).toHaveBeenCalledOnce();
    expect(client.eval).not.toHaveBeenCalled();
  });

  it('and rejects, rather than throws, when the client throws at once', async () => {
    const client = scripted();
    client.evalSha.mockImplementation(() => {
      throw new Error('The client is closed');
    });
    const store = new RedisIdempotencyStore(client);

    for (const call of [
      () => store.acquire('key', 'owner', 'print', 1),
      () => store.complete('key', 'owner', ANSWER, 1),
      () => store.release('key', 'owner'),
      () => store.extend('key', 'owner', 1),
    ]) {
      await expect(call()).rejects.toThrow('The client is closed');
    }
  });

  it('and rejects when the answer is no JSON, before anything is sent', async () => {
    const client = scripted();
    const store = new RedisIdempotencyStore(client);
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;

    await expect(store.complete('key', 'owner', { ...ANSWER, body: cycle }, 1)).rejects.toThrow(/circular/);
    expect(client.evalSha).not.toHaveBeenCalled();
  });

  it('to ioredis word by word', async () => {
    const client = { evalsha: vi.fn(async () => 'yes'), eval: vi.fn() };

    expect(await new RedisIdempotencyStore(client).extend('key', 'owner', 250)).toBe(true);
    expect(client.evalsha).toHaveBeenCalledExactlyOnceWith(expect.any(String), 1, 'idem:key', 'owner', '250');
  });
});

describe('The start of an application with the store in Redis', () => {
  it('asks once whether it may evict, also when Nest starts it again for a microservice', () => {
    const client = scripted('maxmemory_policy:noeviction', 'maxmemory_policy:noeviction');
    const store = new RedisIdempotencyStore(client);
    store.onModuleInit();
    store.onModuleInit();

    expect(client.evalSha).toHaveBeenCalledOnce();
  });
});

describe('The store in Redis reads', () => {
  it('texts that come as bytes', async () => {
    const bytes = (text: string): Buffer => Buffer.from(`..${text}`).subarray(2);
    const reply = [bytes('completed'), bytes('prïnt'), bytes(JSON.stringify({ ...ANSWER, body: '\u{1f600}' }))];

    expect(await acquire(scripted(reply))).toEqual({
      state: 'completed',
      fingerprint: 'prïnt',
      response: { ...ANSWER, body: '\u{1f600}' },
    });
    expect(await new RedisIdempotencyStore(scripted(bytes('yes'))).release('key', 'owner')).toBe(true);
  });

  it.each([
    ['is no JSON', '{"status":2', '{"status":2'],
    ['is gone', null, undefined],
  ])('an answer that %s as one that nobody can read, not as an error of the store', async (_what, kept, response) => {
    expect(await acquire(scripted(['completed', 'print', kept]))).toStrictEqual({
      state: 'completed',
      fingerprint: 'print',
      response,
    });
  });

  it.each([
    [undefined, 'undefined'],
    [true, 'true'],
    ['acquired', '"acquired"'],
    [[], '[]'],
    [['in-flight'], '["in-flight"]'],
    [['in-flight', null], '["in-flight", null]'],
    [['completed'], '["completed"]'],
    [['completed', null, '{}'], '["completed", null, a string]'],
    [['stolen', 'print'], '["stolen", "print"]'],
  ])('no result from %j', async (reply, shown) => {
    await expect(acquire(scripted(reply))).rejects.toThrow(
      `Redis gave an unexpected reply to the script of acquire: ${shown}. Does something else write its keys?`,
    );
  });

  it.each([1, null, true, 'OK', ['yes']])('no decision from %j', async (reply) => {
    const store = new RedisIdempotencyStore(scripted(reply));

    await expect(store.release('key', 'owner')).rejects.toThrow(/unexpected reply to the script of release: /);
  });
});

describe('The name of a key in Redis', () => {
  const nameOf = async (key: string, options?: RedisIdempotencyStoreOptions): Promise<string> => {
    const client = scripted('yes');
    await new RedisIdempotencyStore(client, options).release(key, 'owner');

    return client.evalSha.mock.calls[0]![1].keys[0]!;
  };

  it('begins with the prefix, idem: by default', async () => {
    expect(await nameOf('a%3Ab:key')).toBe('idem:a%3Ab:key');
    expect(await nameOf('key', { keyPrefix: 'shop/' })).toBe('shop/key');
  });

  it('has an empty pair of braces before others, which then mean nothing to a cluster', async () => {
    expect(await nameOf('{user}:1')).toBe('idem:{}{user}:1');
    expect(await nameOf('{}{user}:1')).toBe('idem:{}{}{user}:1');
    expect(await nameOf('user}:1')).toBe('idem:user}:1');
  });
});

describe('The options of the store in Redis', () => {
  it.each([
    ['', '""'],
    ['{idem}:', '"{idem}:"'],
    ['idem}', '"idem}"'],
    [5, '5'],
    [false, 'false'],
  ])('refuse %j as a prefix', (keyPrefix, shown) => {
    const create = (): unknown =>
      new RedisIdempotencyStore(scripted(), { keyPrefix } as unknown as RedisIdempotencyStoreOptions);

    expect(create).toThrow(TypeError);
    expect(create).toThrow(
      `keyPrefix: expected a text that is not empty and has no braces, which would put all keys of a cluster on one node, got ${shown}.`,
    );
  });

  it('refuse what they do not know', () => {
    const options = { prefixKey: 'shop:' } as RedisIdempotencyStoreOptions;

    expect(() => new RedisIdempotencyStore(scripted(), options)).toThrow(
      'prefixKey: unknown option. Known options: keyPrefix, checkEviction.',
    );
    expect(() => new RedisIdempotencyStore(scripted(), { checkEviction: 'no' as never })).toThrow(
      'checkEviction: expected true or false, got "no".',
    );
  });

  it.each([
    [undefined, 'undefined'],
    ['redis://:secret@localhost', 'a string'],
    [{}, 'an object'],
    [{ evalsha: 1, eval: () => {} }, 'an object'],
    [class Redis {}, 'a function'],
  ])('refuse %j as a client', (client, shown) => {
    const create = (): unknown => new RedisIdempotencyStore(client as never);

    expect(create).toThrow(TypeError);
    expect(create).toThrow(
      `client: expected a client of ioredis (new Redis(), new Cluster()) or of node-redis (createClient(), createCluster()), got ${shown}.`,
    );
  });
});
