import { randomUUID } from 'node:crypto';
import type { OnModuleInit } from '@nestjs/common';
import { kindOf, OptionError, rejectUnknown, requireBoolean, requireObject, show } from 'holdfast/binding';
import { log } from '../../log.js';
import type { IdempotencyAcquireResult, IdempotencyStore, IdempotencyStoredPayload } from '../../store.js';
import { ScriptRunner, textOf, type RedisClient } from './redis-client.js';
import { ACQUIRE, COMPLETE, EXTEND, MEMORY, RELEASE, type RedisScript } from './scripts.js';

export interface RedisIdempotencyStoreOptions {
  /**
   * What the name of every key in Redis begins with. Default `idem:`. Neither empty, nor with braces, which would put
   * every key of a cluster on one node.
   */
  readonly keyPrefix?: string | undefined;
  /** Whether the start of the application looks at whether Redis may evict keys. Default `true`. */
  readonly checkEviction?: boolean | undefined;
}

const DEFAULT_PREFIX = 'idem:';

/**
 * Keeps locks and answers in Redis 5 or newer, or in Valkey, alone or in a cluster: a hash per key, which Redis drops when
 * its time is over; of a key that was freed, for half a minute, which call has freed it. Every method is one script on one
 * key, in one round trip.
 *
 * The client is yours: connect it, and close it. While Redis is away, calls wait or fail as the client is set up to, and
 * the module waits for them no longer than its `storeTimeout`.
 *
 * Redis must not evict (`maxmemory-policy noeviction`): an evicted record is a call that runs twice. It answers before its
 * replicas and its disk know: a record that was written in the moment of a failover can be lost, which PostgreSQL rules out.
 */
export class RedisIdempotencyStore implements IdempotencyStore, OnModuleInit {
  readonly #scripts: ScriptRunner;
  readonly #keyPrefix: string;
  readonly #checksEviction: boolean;
  readonly #instance = randomUUID();
  #calls = 0;
  #eviction: Promise<void> | undefined = undefined;

  /** @throws TypeError when the client is none, or an option is unknown or not what it should be. */
  constructor(client: RedisClient, options: RedisIdempotencyStoreOptions = {}) {
    this.#scripts = new ScriptRunner(client);
    requireObject(options, '', "For example: { keyPrefix: 'shop:idem:' }.");
    rejectUnknown(options, ['keyPrefix', 'checkEviction']);
    this.#keyPrefix = requirePrefix(options.keyPrefix ?? DEFAULT_PREFIX);
    this.#checksEviction = requireBoolean(options.checkEviction ?? true, 'checkEviction');
  }

  async acquire(key: string, owner: string, fingerprint: string, lockTtl: number): Promise<IdempotencyAcquireResult> {
    const reply = await this.#run(ACQUIRE, key, [owner, fingerprint, String(lockTtl), this.#nextCall()]);
    const [state, found, response] = (Array.isArray(reply) ? reply : []).map(textOf);
    if (state === 'acquired') return { state };
    if (state === 'in-flight' && found !== undefined) return { state, fingerprint: found };
    if (state === 'completed' && found !== undefined) {
      return { state, fingerprint: found, response: parse(response) };
    }

    throw unexpected(ACQUIRE, reply);
  }

  complete(key: string, owner: string, response: IdempotencyStoredPayload, ttl: number): Promise<boolean> {
    return this.#decide(COMPLETE, key, () => [owner, JSON.stringify(response), String(ttl), this.#nextCall()]);
  }

  release(key: string, owner: string): Promise<boolean> {
    return this.#decide(RELEASE, key, () => [owner, this.#nextCall()]);
  }

  extend(key: string, owner: string, lockTtl: number): Promise<boolean> {
    return this.#decide(EXTEND, key, () => [owner, String(lockTtl)]);
  }

  /**
   * Called by Nest where the store is a provider, in a hybrid application also more than once. Does not wait for Redis, which
   * may be away when an application starts.
   */
  onModuleInit(): void {
    if (this.#checksEviction) this.#eviction ??= this.#warnOfEviction();
  }

  /**
   * What Redis does when its memory is full: its `maxmemory-policy`. Warns through Nest's logger unless it is `noeviction`.
   * In a cluster, one of its nodes is asked. Rejects when Redis is away, or does not tell.
   */
  async checkEviction(): Promise<string> {
    const reply = await this.#scripts.run(MEMORY, this.#keyPrefix);
    const policy = /^maxmemory_policy:(\S+)/m.exec(textOf(reply) ?? '')?.[1];
    if (policy === undefined) throw unexpected(MEMORY, reply);
    if (policy !== 'noeviction') {
      log(
        'warn',
        `Redis may drop idempotency records when its memory is full, and their calls would run twice: its maxmemory-policy ` +
          `is ${policy}. Set it to noeviction, or give idempotency a Redis of its own.`,
      );
    }

    return policy;
  }

  async #warnOfEviction(): Promise<void> {
    try {
      await this.checkEviction();
    } catch (error) {
      log(
        'warn',
        `Whether Redis may drop idempotency records could not be found out (${messageOf(error)}). See that its ` +
          'maxmemory-policy is noeviction, and set checkEviction: false.',
      );
    }
  }

  async #decide(script: RedisScript, key: string, values: () => readonly string[]): Promise<boolean> {
    const reply = await this.#run(script, key, values());
    const decision = textOf(reply);
    if (decision !== 'yes' && decision !== 'no') throw unexpected(script, reply);

    return decision === 'yes';
  }

  #run(script: RedisScript, key: string, values: readonly string[]): Promise<unknown> {
    return this.#scripts.run(script, this.#nameOf(key), ...values);
  }

  /**
   * In a cluster, a part of the name in braces alone decides about the node, unless the first pair of braces is empty: so
   * that no caller's choice of keys heaps them on one node. No key without a brace begins with one.
   */
  #nameOf(key: string): string {
    return `${this.#keyPrefix}${key.includes('{') ? '{}' : ''}${key}`;
  }

  #nextCall(): string {
    this.#calls += 1;

    return `${this.#instance}:${this.#calls}`;
  }
}

function requirePrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix !== '' && !/[{}]/.test(prefix)) return prefix;

  throw new OptionError(
    'keyPrefix',
    `expected a text that is not empty and has no braces, which would put all keys of a cluster on one node, got ${show(prefix)}.`,
  );
}

/**
 * What is no JSON, or is missing, was not written here. It is handed on as it is: as an answer that cannot be read, not as a
 * store that fails.
 */
function parse(response: string | undefined): IdempotencyStoredPayload {
  try {
    return JSON.parse(response as string) as IdempotencyStoredPayload;
  } catch {
    return response as unknown as IdempotencyStoredPayload;
  }
}

/** The last of its parts is an answer, and what is no list may be anything. */
function unexpected({ name }: RedisScript, reply: unknown): Error {
  const shown = Array.isArray(reply)
    ? `[${reply.map((part, at) => (at < 2 ? show(part) : kindOf(part))).join(', ')}]`
    : show(reply);

  return new Error(
    `Redis gave an unexpected reply to the script of ${name}: ${shown}. Does something else write its keys?`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
