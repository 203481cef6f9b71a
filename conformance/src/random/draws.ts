/** Numbers that look like chance and are the same again for the same seed (SplitMix32). */
export class Draws {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  /** Whole, from 0 up to `limit`, without that. */
  below(limit: number): number {
    this.state = (this.state + 0x9e3779b9) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);

    return Math.floor((((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32) * limit);
  }

  /** Whole, with both ends. */
  from(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in `percent` of 100 cases. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** So many of what `draw` gives. */
  list<T>(length: number, draw: () => T): T[] {
    return Array.from({ length }, draw);
  }
}
