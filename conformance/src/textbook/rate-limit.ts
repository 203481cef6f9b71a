import { OutboundRateLimitError } from 'holdfast';
import type { Adapter, Policy, RateLimitSpec, Work } from '../adapter.js';
import { started, untilAbort } from './running.js';

/** A rate limit by a log of starts, as a textbook has it. Mutants of it are wrong in one method. */
export class TextbookRateLimit implements Policy {
  /** When calls started, or will start, in order. */
  protected readonly starts: number[] = [];

  constructor(protected readonly spec: RateLimitSpec) {}

  async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const start = this.nextStart();
    const waitMs = Math.max(0, start - Date.now());
    if (waitMs > (this.spec.maxWaitMs ?? 0)) await this.refuse(waitMs);
    this.starts.push(start);
    if (waitMs > 0) await this.wait(start, signal);

    return untilAbort(started(work, signal), signal);
  }

  /** At most `limit` calls start in any interval. */
  protected nextStart(): number {
    const { limit, intervalMs } = this.spec;
    const before = this.starts.at(-limit);

    return before === undefined ? Date.now() : Math.max(Date.now(), before + intervalMs);
  }

  protected async refuse(waitMs: number): Promise<void> {
    throw new OutboundRateLimitError('textbook', waitMs);
  }

  protected async wait(start: number, signal: AbortSignal | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const turn = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, start - Date.now());
    });
    await untilAbort(turn, signal, () => {
      clearTimeout(timer);
      this.giveBack(start);
    });
  }

  protected giveBack(start: number): void {
    this.starts.splice(this.starts.indexOf(start), 1);
  }
}

/** Our own library with another rate limit. */
export function withRateLimit(RateLimit: typeof TextbookRateLimit): (ours: Required<Adapter>) => Required<Adapter> {
  return (ours) => ({ ...ours, rateLimit: (spec) => new RateLimit(spec) });
}
