import type { ResilienceEvent } from '@nestjs/resilience';
import { moment } from './moment.js';
import type { Entry, Figures, MadeOutcome, PolicyEvent } from './records.js';
import type { CallName } from './settings.js';

const LOOK_EVERY_MS = 10;

/** Less than that is what timers are late by anyway. */
const LEAST_HELD_MS = 3;

/** What happens in the application, in its order. */
export class Journal {
  #entries: Entry[] = [];

  start(id: number, name: CallName): void {
    this.#entries.push({ kind: 'start', at: moment(), id, name });
  }

  end(id: number, outcome: MadeOutcome): void {
    this.#entries.push({ kind: 'end', at: moment(), id, outcome });
  }

  event(event: ResilienceEvent, stats: PolicyEvent['stats']): void {
    const { type, policy, source, reason, section, active, queued } = event as PolicyEvent;
    this.#entries.push({
      kind: 'event',
      at: moment(),
      event: { type, policy, source, reason, section, active, queued, stats },
    });
  }

  rest(figures: Figures): void {
    this.#entries.push({ kind: 'rest', at: moment(), figures });
  }

  take(): readonly Entry[] {
    return this.#entries.splice(0);
  }

  /** Notes when the event loop was held, and whether it was our code that held it. */
  watch(): void {
    let last = moment();
    let usage = process.cpuUsage();
    setInterval(() => {
      const at = moment();
      const ms = at - last - LOOK_EVERY_MS;
      const used = process.cpuUsage(usage);
      if (ms > LEAST_HELD_MS) {
        const starvedMs = Math.max(0, ms - (used.user + used.system) / 1_000);
        this.#entries.push({ kind: 'held', at, ms, starvedMs });
      }
      last = at;
      usage = process.cpuUsage();
    }, LOOK_EVERY_MS).unref();
  }
}
