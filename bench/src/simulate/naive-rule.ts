import type { LimitRule } from './virtual-server.js';

const FIRST_MS = 5_000;
const SAMPLES = 10;

/**
 * The rule that one writes first: twice the average of the last ten answers. It knows answers only, so a step up in
 * latency that no answer survives is never seen. Until there are ten it gives twice the longest, which is never below
 * the first value.
 */
export class NaiveRule implements LimitRule {
  #longestMs = FIRST_MS;
  readonly #answers: number[] = [];

  get limitMs(): number {
    const { length } = this.#answers;
    if (length < SAMPLES) return this.#longestMs * 2;

    return (this.#answers.reduce((sum, each) => sum + each, 0) / length) * 2;
  }

  record(latencyMs: number): void {
    this.#longestMs = Math.max(this.#longestMs, latencyMs);
    this.#answers.push(latencyMs);
    if (this.#answers.length > SAMPLES) this.#answers.shift();
  }

  recordCut(): void {
    // A call that was cut is tried again and leaves no trace.
  }
}
