import { channel, type Channel } from 'node:diagnostics_channel';
import { ResiliencePolicy, subscribe, type AttemptContext, type ExecuteOptions, type ResilienceEvent } from 'holdfast';
import { EVENT_TYPES, observeAnswers } from 'holdfast/binding';
import type { Observable } from 'rxjs';
import { announceDegraded } from './degradation/degraded-events.js';
import { observe } from './entrypoint/observable.js';
import { servedCall } from './entrypoint/served-call.js';

/**
 * What importing this package adds to the engine: `executeObservable()` on every policy, a publication of every event
 * of the process on `nestjs:resilience:<type>`, and the news of fan-outs for the applications. Once per copy of the
 * engine, however many copies of this package there are, so that every event is published once.
 */

declare module 'holdfast' {
  interface ResiliencePolicy {
    /**
     * Runs a stream under this policy: for each attempt `factory` is called and subscribed to, inside the attempt.
     * The first value commits the stream: from then on nothing is repeated, replaced or timed out. Cold: nothing
     * runs before it is subscribed to; unsubscribing aborts the attempt's signal.
     */
    executeObservable<T>(
      factory: (context: AttemptContext) => Observable<T> | PromiseLike<T> | T,
      options?: ExecuteOptions,
    ): Observable<T>;
  }
}

/** Held for good, since Node may lose the subscribers of a channel that it has forgotten once. */
const channels = new Map<string, Channel>(EVENT_TYPES.map((type) => [type, channel(`nestjs:resilience:${type}`)]));

const INSTALLED = Symbol.for('nestjs.resilience.installed');

function install(engine: Record<symbol | string, unknown>): void {
  if (engine[INSTALLED] === true) return;

  Object.defineProperty(engine, INSTALLED, { value: true });
  Object.defineProperty(engine, 'executeObservable', { value: observe, configurable: true, writable: true });
  subscribe(publish);
  observeAnswers(({ name, budgetMs, scope }) => servedCall(scope)?.noteAnswer({ name, budgetMs }));
}

/** A subscriber of a channel throws as Node's channels do: without an effect on the publisher. */
function publish(event: ResilienceEvent): void {
  channels.get(event.type)?.publish(event);
  if (event.type === 'degraded') announceDegraded(event);
}

install(ResiliencePolicy.prototype as unknown as Record<symbol | string, unknown>);
