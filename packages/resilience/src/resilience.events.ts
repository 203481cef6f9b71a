import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ResilienceEvent, ResiliencePolicy } from 'holdfast';
import { Observable, Subject, Subscriber, type Observer, type Operator, type Subscription } from 'rxjs';
import { joinApplications } from './degradation/degraded-events.js';

/** The events of one application's policies. */
@Injectable()
export class ResilienceEvents implements OnApplicationShutdown {
  readonly #events = new Subject<ResilienceEvent>();

  /**
   * Every event of the policies that this application's module made: those of entrypoints, presets and `create()`. Also
   * `degraded` of the fan-outs inside its calls with a plan, and of those outside of any application's.
   * Completes when the application has shut down. A subscriber that throws harms nobody: it is reported once, and
   * goes on receiving.
   */
  readonly events$: Observable<ResilienceEvent> = new IsolatedObservable((subscriber) =>
    this.#events.subscribe(subscriber),
  );

  /** @internal */
  readonly tell = (event: ResilienceEvent): void => this.#events.next(event);

  #leave: (() => void) | undefined = undefined;

  /**
   * From now on it hears of fan-outs too.
   *
   * @internal
   */
  join(): void {
    this.#leave ??= joinApplications(this.tell);
  }

  /** @internal */
  attach<Source extends Pick<ResiliencePolicy, 'subscribe'>>(source: Source): Source {
    source.subscribe(this.tell);

    return source;
  }

  /** @internal */
  onApplicationShutdown(): void {
    this.#leave?.();
    this.#events.complete();
  }
}

type Next<T> = (value: T) => unknown;

/**
 * An Observable whose subscribers cannot break anything, at the end of a `pipe()` neither: RxJS would make an uncaught
 * exception of what their `next` throws.
 */
class IsolatedObservable<T> extends Observable<T> {
  // Every operator goes through here, so that what it returns is isolated too.
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new IsolatedObservable<R>();
    lifted.source = this;
    lifted.operator = operator as unknown as Operator<unknown, R>;

    return lifted;
  }

  override subscribe(
    observerOrNext?: Partial<Observer<T>> | Next<T> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    if (isSubscriber<T>(observerOrNext)) return super.subscribe(observerOrNext);
    if (typeof observerOrNext !== 'object' || observerOrNext === null) {
      const given = { next: observerOrNext, error, complete };
      return super.subscribe(isolate<T>(Object.fromEntries(Object.entries(given).filter(([, part]) => part))));
    }

    return super.subscribe(isolate(observerOrNext));
  }
}

/** What RxJS's own operators and adapters subscribe with, of this copy or another: they handle what is thrown. */
function isSubscriber<T>(observer: unknown): observer is Subscriber<T> {
  if (observer instanceof Subscriber) return true;
  if (typeof observer !== 'object' || observer === null) return false;

  const parts = observer as Readonly<Record<string, unknown>>;
  return ['next', 'error', 'complete', 'add', 'remove', 'unsubscribe'].every(
    (part) => typeof parts[part] === 'function',
  );
}

function isolate<T>(observer: Partial<Observer<T>>): Partial<Observer<T>> {
  let reported = false;
  const report = (error: unknown): void => {
    if (reported) return;

    reported = true;
    logger.error('A subscriber of resilience events failed (reported once)', stackOf(error));
  };
  const guarded = <Arguments extends unknown[]>(call: (...given: Arguments) => unknown) => {
    return (...given: Arguments): void => {
      try {
        const result = call(...given);
        if (isPromise(result)) result.then(undefined, report);
      } catch (error) {
        report(error);
      }
    };
  };

  return {
    next: guarded((value: T) => observer.next?.(value)),
    complete: guarded(() => observer.complete?.()),
    // Without a handler an error goes the way of RxJS: it comes from an operator of the subscriber's own.
    ...(observer.error && { error: guarded((error: unknown) => observer.error?.(error)) }),
  };
}

const logger = new Logger('ResilienceModule');

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}

function stackOf(error: unknown): unknown {
  return error instanceof Error ? (error.stack ?? error.message) : error;
}
