import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from './random.js';
import type { ServerProcess } from './server-process.js';

export interface ServerFaultCounts {
  kills: number;
  freezes: number;
}

export interface ServerFaultPlan {
  readonly kills: number;
  readonly freezes: number;
  /** Milliseconds. */
  readonly lockTtl: number;
}

/** Kills servers at random moments, and starts them again at once; stops others for longer than a lock lives. */
export class ServerFaults {
  readonly counts: ServerFaultCounts = { kills: 0, freezes: 0 };
  readonly #comingBack = new Set<Promise<void>>();

  constructor(
    private readonly servers: readonly ServerProcess[],
    private readonly random: Random,
    private readonly plan: ServerFaultPlan,
  ) {}

  /** Until there were enough, and all servers are back. */
  async run(): Promise<void> {
    const { kills, freezes } = this.plan;
    while (this.counts.kills < kills || this.counts.freezes < freezes) {
      await pause(this.random.between(50, 500));
      const up = this.servers.filter(({ isUp }) => isUp);
      // One stays, so that clients get anywhere.
      if (up.length > 1) await this.harm(this.random.pick(up));
    }
    await this.allBack();
  }

  private async harm(server: ServerProcess): Promise<void> {
    const { kills, freezes } = this.plan;
    const left = { kills: kills - this.counts.kills, freezes: freezes - this.counts.freezes };
    const isKill = this.random.next() * (left.kills + left.freezes) < left.kills;
    if (!isKill) {
      // What is to lose its lock has to be running, and clients who wait for other servers start nothing.
      await this.allBack();
      await pause(this.random.between(300, 800));
    }
    const comingBack = (isKill ? this.kill(server) : this.freeze(server)).finally(() => {
      this.#comingBack.delete(comingBack);
    });
    this.#comingBack.add(comingBack);
  }

  private async allBack(): Promise<void> {
    while (this.#comingBack.size > 0) await Promise.all(this.#comingBack);
  }

  private async kill(server: ServerProcess): Promise<void> {
    this.counts.kills += 1;
    await server.kill();
    await server.start();
  }

  private async freeze(server: ServerProcess): Promise<void> {
    this.counts.freezes += 1;
    const thaw = server.freeze();
    await pause(this.plan.lockTtl + this.random.between(200, 700));
    thaw();
  }
}
