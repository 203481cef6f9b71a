import { appendFileSync } from 'node:fs';
import { moment, type Span } from '../moment.js';

const LOOK_MS = 50;

/**
 * Writes down when a machine that has too much to do kept this process from running, or its store from answering it, for
 * so long that a renewal of a lock was missed.
 */
export class Stalls {
  constructor(
    private readonly file: string,
    /** Milliseconds. */
    private readonly lockTtl: number,
  ) {}

  /** Looks from now on whether timers come. Returns what ends it. */
  watch(): () => void {
    let last = moment();
    const timer = setInterval(() => {
      this.add(last);
      last = moment();
    }, LOOK_MS);

    return () => clearInterval(timer);
  }

  async around<T>(ask: () => Promise<T>): Promise<T> {
    const since = moment();
    try {
      return await ask();
    } finally {
      this.add(since);
    }
  }

  private add(from: number): void {
    const to = moment();
    if (to - from > this.lockTtl / 3) appendFileSync(this.file, `${JSON.stringify({ from, to } satisfies Span)}\n`);
  }
}
