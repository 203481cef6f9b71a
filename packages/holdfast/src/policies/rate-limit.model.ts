export interface RateLimitSettings {
  readonly limit: number;
  /** How many milliseconds a token takes to come; the interval is `limit` times that. */
  readonly perToken: number;
  readonly maxWait: number;
}

/** What a rate limit has to do, told again plainly, in whole milliseconds of a bucket that fills by one a millisecond. */
export class RateLimitModel {
  readonly starts: number[] = [];
  /** Those of calls that wait, in order. */
  private turns: number[] = [];

  constructor(private readonly settings: RateLimitSettings) {}

  /** How long the next call waits. */
  wait(now: number): number {
    const { perToken } = this.settings;
    const filled = this.filled(now);
    if (this.leftByFirst(now) >= perToken) return Math.max(0, perToken - filled);

    const isFree = (turn: number): boolean => this.turns.every((other) => Math.abs(other - turn) >= perToken);
    return Math.min(...this.turns.map((turn) => turn + perToken).filter(isFree)) - now;
  }

  available(now: number): number {
    return Math.max(0, Math.floor(Math.min(this.filled(now), this.leftByFirst(now)) / this.settings.perToken));
  }

  enqueue(turn: number): void {
    this.turns = [...this.turns, turn].toSorted((one, other) => one - other);
  }

  dequeue(turn: number): void {
    this.turns.splice(this.turns.indexOf(turn), 1);
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

  /** What the first who waits leaves at its turn of what will have come until then. */
  private leftByFirst(now: number): number {
    const [first = Infinity] = this.turns;

    return this.filled(now) + first - now - this.settings.perToken;
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
