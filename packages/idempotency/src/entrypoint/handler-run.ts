import { Observable, type Unsubscribable } from 'rxjs';
import type { Outcome } from '../transports/transport.js';

/** How a handler has ended, and with what. */
export type HandlerEnd =
  | Outcome
  /** Without a value. */
  | { readonly kind: 'empty' }
  /** Its values have left one by one. */
  | { readonly kind: 'streamed'; readonly error?: { readonly reason: unknown } };

export interface HandlerRunOptions {
  /** Of several values the last one counts; otherwise a second one makes a stream of them. */
  readonly answersOnce: boolean;
  /** Takes each value of a stream. */
  readonly emit: (value: unknown) => void;
}

/** One run of a handler, which goes on when nobody waits for it any more; only a stream is stopped then. */
export class HandlerRun {
  private values = 0;
  private last: unknown = undefined;
  private left = false;
  private stream: Unsubscribable | undefined = undefined;
  private end: (end: HandlerEnd) => void = () => {};

  constructor(private readonly options: HandlerRunOptions) {}

  /** @param handle May throw, as a handler that could not be called. */
  run(handle: () => Observable<unknown>): Promise<HandlerEnd> {
    return new Promise((resolve) => {
      this.end = resolve;
      try {
        this.stoppable(handle()).subscribe({
          next: (value) => this.take(value),
          error: (reason: unknown) => this.fail(reason),
          complete: () => this.complete(),
        });
      } catch (error) {
        this.fail(error);
      }
    });
  }

  /** Nobody waits for it any more. */
  leave(): void {
    this.left = true;
    if (!this.isStream) return;

    this.stream?.unsubscribe();
    this.end({ kind: 'streamed' });
  }

  /** Also while it is being subscribed to: a source may give all of its values then, without an end. */
  private stoppable(source: Observable<unknown>): Observable<unknown> {
    if (this.options.answersOnce) return source;

    return new Observable((subscriber) => {
      this.stream = subscriber;
      source.subscribe(subscriber);
    });
  }

  private get isStream(): boolean {
    return !this.options.answersOnce && this.values > 1;
  }

  private take(value: unknown): void {
    this.values += 1;
    if (this.isStream) {
      if (this.left) return this.leave();
      if (this.values === 2) this.options.emit(this.last);
      this.options.emit(value);
    }
    this.last = value;
  }

  private fail(reason: unknown): void {
    this.end(this.isStream ? { kind: 'streamed', error: { reason } } : { kind: 'error', error: reason });
  }

  private complete(): void {
    if (this.isStream) return this.end({ kind: 'streamed' });

    this.end(this.values === 0 ? { kind: 'empty' } : { kind: 'value', value: this.last });
  }
}
