import { Injectable } from '@nestjs/common';
import { ResilienceContext } from '@nestjs/resilience';

@Injectable()
export class Quotes {
  constructor(private readonly context: ResilienceContext) {}

  /** Does not answer, and lets go when it is given up. */
  never(): Promise<never> {
    const { signal } = this.context;

    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  }
}
