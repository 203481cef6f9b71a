import { ServiceUnavailableException } from '@nestjs/common';
import type { IdempotencyService } from '@nestjs/idempotency';
import type { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { insertEffect, type Effect } from '../effects.js';
import { moment } from '../moment.js';
import type { Random } from '../random.js';
import type { ServerSettings } from './server-settings.js';
import type { Acknowledgements } from './witness-store.js';

export interface Charge {
  readonly key: string;
  readonly amount: number;
}

/** What a client is answered, now and ever after. */
export interface Charged extends Charge {
  readonly run: string;
}

/** How a run goes: most are short, some take as long as a remote service does, a few longer than a lock that nobody renews. */
const LONG = 0.7;
const LONGER_THAN_LOCK = 0.01;
const DECLINED = 0.1;

export interface ChargesParts {
  readonly settings: ServerSettings;
  readonly random: Random;
  readonly effects: Pool;
}

/** The work that must not be done twice. */
export abstract class Charges {
  constructor(protected readonly parts: ChargesParts) {}

  async charge({ key, amount }: Charge, arrived: number): Promise<Charged> {
    const { random } = this.parts;
    const think = this.thinkingTime();
    const before = think * random.next();
    const isDeclined = random.chance(DECLINED);
    await pause(before);
    // Nothing has been done: the key is free for the next attempt.
    if (isDeclined) throw new ServiceUnavailableException('declined');

    const run = randomUUID();
    const effect: Effect = { key, run, life: this.parts.settings.life, arrived, at: moment() };
    await this.take(effect, { charged: { key, amount, run }, rest: think - before });
    return { key, amount, run };
  }

  protected abstract take(effect: Effect, run: Run): Promise<void>;

  private thinkingTime(): number {
    const { random, settings } = this.parts;
    if (random.chance(LONGER_THAN_LOCK)) return settings.lockTtl * 1.3;

    return random.chance(LONG) ? random.between(200, 900) : random.between(0, 20);
  }
}

interface Run {
  readonly charged: Charged;
  /** Milliseconds that it takes after its effect. */
  readonly rest: number;
}

/** Effect here, record there: what was done before a crash is done again. */
export class SeparateCharges extends Charges {
  protected async take(effect: Effect, { rest }: Run): Promise<void> {
    await insertEffect(this.parts.effects, effect);
    await pause(rest);
  }
}

export interface JoinedParts {
  readonly store: PostgresIdempotencyStore;
  readonly service: IdempotencyService;
  readonly acknowledgements: Acknowledgements;
}

/** Effect and record are committed together, or neither is. */
export class JoinedCharges extends Charges {
  constructor(
    parts: ChargesParts,
    private readonly joined: JoinedParts,
  ) {
    super(parts);
  }

  protected async take(effect: Effect, { charged, rest }: Run): Promise<void> {
    const { store, service, acknowledgements } = this.joined;
    try {
      await this.inTransaction(async (client) => {
        await insertEffect(client, effect);
        await pause(rest);
        await service.current?.keep(store.joining(client), charged);
      });
    } catch (error) {
      throw new ServiceUnavailableException('declined', { cause: error });
    }
    acknowledgements.add(charged);
  }

  private async inTransaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await this.parts.effects.connect();
    // Of a connection that breaks between two statements: the next one tells.
    const ignore = (): void => {};
    client.on('error', ignore);
    let isSound = false;
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
      isSound = true;
    } finally {
      client.off('error', ignore);
      // What is left of a transaction goes with its connection.
      client.release(!isSound);
    }
  }
}
