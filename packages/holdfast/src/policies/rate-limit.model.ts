export interface RateLimitSettings {
  readonly limit: number;
  /** How many milliseconds a token takes to come; the interval is `limit` times that. */
  readonly perToken: number;
  readonly maxWait: number;
}

/** What a rate limit has to do, told again plainly, in whole milliseconds of a bucket that fills by one a millisecond. */
export class RateLimitModel {
  readonly starts: number[] = [];
  private waiting = 0;
  private lastTurn = 0;
  /** Whether a call has left while others wait: their turns stand, so that later waits are only known at most. */
  hasGap = false;

  constructor(private readonly settings: RateLimitSettings) {}

  /** How long the next call waits; with a gap, at most. */
  wait(now: number): number {
    const { perToken } = this.settings;
    return this.waiting > 0 ? this.lastTurn + perToken - now : Math.max(0, perToken - this.filled(now));
  }

  available(now: number): number {
    return this.waiting > 0 ? 0 : Math.floor(this.filled(now) / this.settings.perToken);
  }

  enqueue(turn: number): void {
    this.waiting += 1;
    this.lastTurn = turn;
  }

  dequeue(leaves: boolean): void {
    this.waiting -= 1;
    this.hasGap = this.waiting > 0 && (this.hasGap || leaves);
  }

  /** A span of time in which more calls started than `limit` and what came in that time. */
  overrun(): readonly [number, number] | undefined {
    const { limit, perToken } = this.settings;
    for (const [from, first] of this.starts.entries()) {
      for (const [to, last] of this.starts.entries()) {
        if (to - from + 1 > limit + (last - first) / perToken && to >= from) return [first, last];
      }
    }
    return undefined;
  }

  private filled(now: number): number {
    const { limit, perToken } = this.settings;
    const full = limit * perToken;
    let [filled, at] = [full, 0];
    for (const start of this.starts) {
      filled = Math.min(full, filled + start - at) - perToken;
      at = start;
    }
    return Math.min(full, filled + now - at);
  }
}
