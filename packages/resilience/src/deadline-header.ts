import { deadlineHeaderValue } from 'holdfast';
import { currentScope, requireDeadlineHeader } from 'holdfast/binding';

/**
 * What is left of the deadline around, as the value of an outgoing header: whole milliseconds in that header's own form,
 * rounded up, at least 1. `undefined` where there is no deadline. Ask for it anew for each attempt.
 *
 * @throws TypeError when deadlines do not travel in a header of this name.
 *
 * @example
 * ```ts
 * const left = deadlineHeader('x-request-timeout-ms');
 * fetch(url, { signal, headers: left === undefined ? {} : { 'x-request-timeout-ms': left } });
 * ```
 */
export function deadlineHeader(name: string): string | undefined {
  const known = requireDeadlineHeader(name, 'name');
  const deadline = currentScope()?.deadline;

  return deadline && deadlineHeaderValue(known, deadline);
}
