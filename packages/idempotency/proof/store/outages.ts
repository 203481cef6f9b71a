import { setTimeout as pause } from 'node:timers/promises';
import { moment, type Span } from '../moment.js';
import type { Random } from '../random.js';
import type { OwnedServer } from './owned-server.js';
import type { SlowProxy } from './slow-proxy.js';

/** What may be wrong with a store: it stands still, dies and comes back, answers late, loses its connections. */
const KINDS = ['pause', 'restart', 'slow', 'cut'] as const;

export interface Outage extends Span {
  readonly kind: (typeof KINDS)[number];
}

export interface OutagePlan {
  /** How often all of them. */
  readonly rounds: number;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** Milliseconds between two, so that some calls meet a store that works. */
const REST_MS = 700;

/** One after the other, in random order. */
export class Outages {
  readonly spans: Outage[] = [];

  constructor(
    private readonly server: OwnedServer,
    private readonly proxy: SlowProxy,
    private readonly plan: OutagePlan,
  ) {}

  async run(random: Random): Promise<void> {
    for (let round = 0; round < this.plan.rounds; round++) {
      const kinds = [...KINDS].toSorted(() => random.next() - 0.5);
      for (const kind of kinds) {
        await pause(REST_MS);
        const from = moment();
        await this[kind](random);
        this.spans.push({ kind, from, to: moment() });
      }
    }
    await pause(REST_MS);
  }

  /** For longer than calls wait for it. */
  private async pause(random: Random): Promise<void> {
    const thaw = this.server.freeze();
    await pause(this.plan.storeTimeout * random.between(1.2, 2));
    thaw();
  }

  private async restart(): Promise<void> {
    await this.server.crash();
    await this.server.start();
  }

  /** First only slow, then too slow. */
  private async slow(random: Random): Promise<void> {
    for (const part of [random.between(0.1, 0.3), 0.6]) {
      this.proxy.delay = this.plan.storeTimeout * part;
      await pause(this.plan.storeTimeout);
    }
    this.proxy.delay = 0;
  }

  private async cut(): Promise<void> {
    this.proxy.cut();
  }
}
