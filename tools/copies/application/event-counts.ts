import { subscribe } from 'node:diagnostics_channel';
import { Injectable } from '@nestjs/common';
import { ResilienceEvents } from '@nestjs/resilience';

/** How many events there were of each channel and type, and by `events$`. */
@Injectable()
export class EventCounts {
  private readonly counts: Record<string, number> = {};

  constructor({ events$ }: ResilienceEvents) {
    events$.subscribe(({ type }) => this.count(`events$ ${type}`));
    for (const type of ['timeout', 'degraded']) {
      for (const channel of [`holdfast:${type}`, `nestjs:resilience:${type}`]) {
        subscribe(channel, () => this.count(channel));
      }
    }
  }

  /** Since it was asked last. */
  take(): Record<string, number> {
    const taken = { ...this.counts };
    for (const key of Object.keys(taken)) delete this.counts[key];

    return taken;
  }

  private count(key: string): void {
    this.counts[key] = (this.counts[key] ?? 0) + 1;
  }
}
