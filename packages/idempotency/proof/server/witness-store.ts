import type { IdempotencyAcquireResult, IdempotencyStore } from '@nestjs/idempotency';
import { appendFileSync } from 'node:fs';
import { moment } from '../moment.js';
import type { Charged } from './charges.js';
import type { Stalls } from './stalls.js';

/** That a store has said that it keeps the answer of a run. */
export interface Acknowledgement {
  readonly key: string;
  readonly run: string;
  readonly at: number;
}

/** Writes down what a store acknowledges, before anybody hears of it: a process that is killed leaves it behind. */
export class Acknowledgements {
  constructor(private readonly file: string) {}

  add({ key, run }: Pick<Charged, 'key' | 'run'>): void {
    appendFileSync(this.file, `${JSON.stringify({ key, run, at: moment() } satisfies Acknowledgement)}\n`);
  }
}

/** Any store, what it acknowledges, and when it is slow. */
export class WitnessStore implements IdempotencyStore {
  constructor(
    private readonly store: IdempotencyStore,
    private readonly acknowledgements: Acknowledgements,
    private readonly stalls: Stalls,
  ) {}

  acquire(...given: Parameters<IdempotencyStore['acquire']>): Promise<IdempotencyAcquireResult> {
    return this.stalls.around(() => this.store.acquire(...given));
  }

  async complete(...given: Parameters<IdempotencyStore['complete']>): Promise<boolean> {
    const isStored = await this.stalls.around(() => this.store.complete(...given));
    const [, , response] = given;
    if (isStored && 'body' in response) this.acknowledgements.add(response.body as Charged);

    return isStored;
  }

  release(...given: Parameters<IdempotencyStore['release']>): Promise<boolean> {
    return this.stalls.around(() => this.store.release(...given));
  }

  extend(...given: Parameters<IdempotencyStore['extend']>): Promise<boolean> {
    return this.stalls.around(() => this.store.extend(...given));
  }
}
