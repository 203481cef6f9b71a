import { Logger } from '@nestjs/common';
import type { ResilienceDegradedEvent, ResilienceEvent } from 'holdfast';
import { answerScope } from 'holdfast/binding';
import { servedCall, type ServedCall } from '../entrypoint/served-call.js';

/**
 * Fan-outs are no policies that a module makes: their events reach the application in whose call they ran. One that
 * runs outside of all calls with a plan could be anybody's, so all applications of the process hear of it.
 */

type Listener = (event: ResilienceEvent) => void;

const LISTENERS = Symbol.for('nestjs.resilience.applications');

/** The applications that run, of all copies of this package. */
const applications = ((globalThis as Record<symbol, unknown>)[LISTENERS] ??= new Set<Listener>()) as Set<Listener>;

/** From now on the application hears of what no policy of its own tells, until the returned function is called. */
export function joinApplications(listener: Listener): () => void {
  applications.add(listener);

  return () => void applications.delete(listener);
}

/** Tells the right applications, and the log. */
export function announceDegraded(event: ResilienceDegradedEvent): void {
  if (applications.size === 0) return;

  const call = servedCall(answerScope());
  if (call !== undefined) call.tell(event);
  else for (const tell of [...applications]) tell(event);
  logFailure(event, call);
}

/** Once per section and request, as far as requests can be told apart. Clients that have left are nobody's failure. */
function logFailure(event: ResilienceDegradedEvent, call: ServedCall | undefined): void {
  const { section, reason, policy } = event;
  if (reason === 'client_abort' || call?.loggedSections.has(section) === true) return;

  call?.loggedSections.add(section);
  Logger.warn(`${section}: ${describeFailure(event)}`, call?.className ?? policy);
}

function describeFailure({ reason, waitedMs, error }: ResilienceDegradedEvent): string {
  if (reason === 'upstream_timeout') return `no answer within ${waitedMs}ms`;
  if (typeof error === 'string') return error;
  try {
    const message = (error as { readonly message?: unknown } | undefined | null)?.message;
    return typeof message === 'string' && message !== '' ? message : reason;
  } catch {
    // Anything may be thrown, also what does not let itself be looked at.
    return reason;
  }
}
