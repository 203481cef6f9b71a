import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ResilienceEvent, ResiliencePolicy } from 'holdfast';
import { isolating } from 'holdfast/nest';
import { Observable, Subject } from 'rxjs';
import { joinApplications } from './degradation/degraded-events.js';

const IsolatedObservable = isolating(Observable, (error) =>
  new Logger('ResilienceModule').error('A subscriber of resilience events failed (reported once)', stackOf(error)),
);

function stackOf(error: unknown): unknown {
  return error instanceof Error ? (error.stack ?? error.message) : error;
}

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
  readonly events$: Observable<ResilienceEvent> = new IsolatedObservable<ResilienceEvent>((subscriber) =>
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
