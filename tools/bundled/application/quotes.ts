import { Injectable } from '@nestjs/common';
import { ResilienceContext } from '@nestjs/resilience';

@Injectable()
export class Quotes {
  private bookings = 0;

  constructor(private readonly context: ResilienceContext) {}

  /** Another number each time. */
  book(): number {
    return ++this.bookings;
  }

  /** Does not answer, and lets go when it is given up. */
  never(): Promise<never> {
    const { signal } = this.context;

    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  }
}
