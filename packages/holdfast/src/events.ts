import { requireFunction } from './options.js';
import type { DegradedReason } from './sections/degraded.js';
import { host } from '#host';

/**
 * Events: what policies tell the outside. They go to the diagnostics channels of the runtime, to subscribers of the
 * whole process, and to subscribers of one policy, in this order; none of them can change an outcome.
 */

interface PolicyEvent {
  /** The policy's name; at an entrypoint the handler's, for retries, timeouts and fallbacks. */
  readonly policy: string;
}

interface CallEvent extends PolicyEvent {
  /** The entrypoint, or the label given to `execute()`. */
  readonly source: string | undefined;
}

/** An attempt failed and another one follows. Emitted before the wait. */
export interface ResilienceRetryEvent extends CallEvent {
  readonly type: 'retry';
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  /** The wait before the next one, in milliseconds. */
  readonly delayMs: number;
  /** `undefined` when a result, not an error, is retried. */
  readonly error: unknown;
}

/** An attempt ran out of time. Emitted before its signal is aborted. */
export interface ResilienceTimeoutEvent extends CallEvent {
  readonly type: 'timeout';
  readonly timeoutMs: number;
}

export type CircuitState = 'closed' | 'open' | 'half-open';

interface CircuitTransitionEvent extends PolicyEvent {
  /** The call that caused the transition; absent for `trip()`, `reset()` and for a mere look at the state. */
  readonly source?: string;
  readonly from: CircuitState;
  readonly to: CircuitState;
}

export interface ResilienceCircuitOpenEvent extends CircuitTransitionEvent {
  readonly type: 'circuit-open';
}

export interface ResilienceCircuitHalfOpenEvent extends CircuitTransitionEvent {
  readonly type: 'circuit-half-open';
}

export interface ResilienceCircuitClosedEvent extends CircuitTransitionEvent {
  readonly type: 'circuit-closed';
}

export interface ResilienceCircuitRejectedEvent extends CallEvent {
  readonly type: 'circuit-rejected';
  readonly retryAfterMs: number;
}

export interface ResilienceBulkheadRejectedEvent extends CallEvent {
  readonly type: 'bulkhead-rejected';
  readonly reason: 'full' | 'queue-timeout';
  /** Calls that run. */
  readonly active: number;
  /** Calls that wait, without the one that is refused. */
  readonly queued: number;
}

export interface ResilienceRateLimitedEvent extends CallEvent {
  readonly type: 'rate-limited';
  readonly retryAfterMs: number;
}

/** A fallback answers. Emitted before its handler runs. */
export interface ResilienceFallbackEvent extends CallEvent {
  readonly type: 'fallback';
  readonly error: unknown;
}

/** A slot was given back at a limit although the work may run on. */
export interface ResilienceAbandonedEvent extends CallEvent {
  readonly type: 'abandoned';
  /** How many abandoned calls of this bulkhead run on, this one included. */
  readonly abandoned: number;
}

/** A budget is over. Emitted before the signals inside are aborted. */
export interface ResilienceDeadlineEvent extends CallEvent {
  readonly type: 'deadline';
  readonly budgetMs: number;
}

/** A section of an answer is missing, or the answer with it. Emitted once for each, when it is known. */
export interface ResilienceDegradedEvent extends CallEvent {
  readonly type: 'degraded';
  readonly section: string;
  readonly reason: DegradedReason;
  /** In whole milliseconds. */
  readonly waitedMs: number;
  readonly error: unknown;
}

/** The client has left, and its call is given up. Emitted before the signals inside are aborted. */
export interface ResilienceClientGoneEvent extends CallEvent {
  readonly type: 'client-gone';
}

export type ResilienceEvent =
  | ResilienceRetryEvent
  | ResilienceTimeoutEvent
  | ResilienceCircuitOpenEvent
  | ResilienceCircuitHalfOpenEvent
  | ResilienceCircuitClosedEvent
  | ResilienceCircuitRejectedEvent
  | ResilienceBulkheadRejectedEvent
  | ResilienceRateLimitedEvent
  | ResilienceFallbackEvent
  | ResilienceAbandonedEvent
  | ResilienceDeadlineEvent
  | ResilienceDegradedEvent
  | ResilienceClientGoneEvent;

export type ResilienceListener = (event: ResilienceEvent) => void;

/** Subscribers of the whole process. */
const everyone: Subscriber[] = [];

/** Calls `listener` with every event of every policy in this process, until the returned function is called. */
export function subscribe(listener: ResilienceListener): () => void {
  return addTo(everyone, listener);
}

/** Where one policy's events go. */
export class EventSource {
  readonly #subscribers: Subscriber[] = [];

  subscribe(listener: ResilienceListener): () => void {
    return addTo(this.#subscribers, listener);
  }

  /** Whether an event of this type would reach anybody; when not, there is no need to make one. */
  isObserved(type: ResilienceEvent['type']): boolean {
    return this.#subscribers.length > 0 || everyone.length > 0 || host.hasSubscribers(type);
  }

  emit(event: ResilienceEvent): void {
    host.publish(event);
    deliver(everyone, event);
    deliver(this.#subscribers, event);
  }
}

/** A listener, and whether its failure was reported already. */
class Subscriber {
  readonly #listener: ResilienceListener;
  #reported = false;

  constructor(listener: ResilienceListener) {
    this.#listener = listener;
  }

  notify(event: ResilienceEvent): void {
    try {
      const answer: unknown = this.#listener(event);
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#report(event, error));
    } catch (error) {
      this.#report(event, error);
    }
  }

  #report({ type }: ResilienceEvent, error: unknown): void {
    if (this.#reported) return;

    this.#reported = true;
    reportError(`A subscriber of resilience events failed on "${type}" (reported once)`, error);
  }
}

function addTo(subscribers: Subscriber[], listener: ResilienceListener): () => void {
  requireFunction(listener, 'listener');
  const subscriber = new Subscriber(listener);
  subscribers.push(subscriber);

  return function unsubscribe() {
    const index = subscribers.indexOf(subscriber);
    if (index >= 0) subscribers.splice(index, 1);
  };
}

function deliver(subscribers: Subscriber[], event: ResilienceEvent): void {
  if (subscribers.length === 0) return;

  for (const subscriber of [...subscribers]) subscriber.notify(event);
}

/**
 * Tells of an error that must not change an outcome. On the console, since the global function of this name ends
 * the process in some runtimes.
 */
export function reportError(message: string, error: unknown): void {
  try {
    globalThis.console?.error(message, error);
  } catch {
    // A console that throws, as some test set-ups install, must not change an outcome either.
  }
}
