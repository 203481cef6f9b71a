import { kindOf, OptionError } from 'holdfast/binding';
import type { RedisScript } from './scripts.js';

/** What is used of a client of `ioredis` 5 or 6: a `Redis` or a `Cluster`. */
export interface IoredisClient {
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(source: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** What is used of a client of `redis` (node-redis) 5 or 6: of `createClient`, `createCluster` and their siblings. */
export interface NodeRedisClient {
  evalSha(sha1: string, input: NodeRedisScriptInput): Promise<unknown>;
  eval(source: string, input: NodeRedisScriptInput): Promise<unknown>;
}

export interface NodeRedisScriptInput {
  keys: string[];
  arguments: string[];
}

export type RedisClient = IoredisClient | NodeRedisClient;

/** A script on its way: by hash when the server should know it, else in full. */
type Send = (call: 'hash' | 'source', script: RedisScript, input: NodeRedisScriptInput) => Promise<unknown>;

/** Runs scripts on either kind of client, in one round trip each once the server has seen them. */
export class ScriptRunner {
  readonly #send: Send;

  /** @throws TypeError when it is neither kind. */
  constructor(client: RedisClient) {
    this.#send = senderOf(client);
  }

  /**
   * A server that has lost the script (it was restarted, another took over, `SCRIPT FLUSH`) says so before it has done
   * anything: then the script is sent in full, by which the server learns it.
   */
  async run(script: RedisScript, key: string, ...values: string[]): Promise<unknown> {
    const input = { keys: [key], arguments: values };
    try {
      return await this.#send('hash', script, input);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
    }

    return this.#send('source', script, input);
  }
}

function senderOf(client: RedisClient): Send {
  if (hasMethods(client, ['evalSha', 'eval'])) {
    const sender = client as NodeRedisClient;

    return (call, { sha1, source }, input) =>
      call === 'hash' ? sender.evalSha(sha1, input) : sender.eval(source, input);
  }
  if (hasMethods(client, ['evalsha', 'eval'])) {
    const sender = client as IoredisClient;

    return (call, { sha1, source }, { keys, arguments: values }) =>
      call === 'hash'
        ? sender.evalsha(sha1, keys.length, ...keys, ...values)
        : sender.eval(source, keys.length, ...keys, ...values);
  }

  throw new OptionError(
    'client',
    `expected a client of ioredis (new Redis(), new Cluster()) or of node-redis (createClient(), createCluster()), got ${kindOf(client)}.`,
  );
}

function hasMethods(client: unknown, names: readonly string[]): boolean {
  if (typeof client !== 'object' || client === null) return false;

  return names.every((name) => typeof (client as Readonly<Record<string, unknown>>)[name] === 'function');
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** A text of a reply: clients can be set up to give bytes instead. */
export function textOf(reply: unknown): string | undefined {
  if (typeof reply === 'string') return reply;

  return reply instanceof Uint8Array
    ? Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString()
    : undefined;
}
