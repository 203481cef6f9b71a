import { RequestMethod } from '@nestjs/common';
import type { HandlerKinds } from 'holdfast/nest';

/**
 * Whether a call may be run again. A retry never repeats what may have side effects, unless the handler is declared
 * safe to repeat.
 *
 * - `never`: there is no retry, or the request is a stream that can be read once only.
 * - `safe`: safe HTTP methods and GraphQL queries.
 * - `declared`: the same, and everything on other transports, since a `@Retry()` stands on the handler itself.
 * - `always`: the handler is declared idempotent.
 */
export type RetryRule = 'never' | 'safe' | 'declared' | 'always';

/** Decides for the call at hand, by what its transport says of it: has it no side effects? */
export function mayRepeat({ retry }: { readonly retry: RetryRule }, isSafe: boolean | undefined): boolean {
  if (retry === 'never') return false;
  if (retry === 'always') return true;

  return isSafe ?? retry === 'declared';
}

const SAFE_ROUTES: ReadonlySet<RequestMethod> = new Set([
  RequestMethod.GET,
  RequestMethod.HEAD,
  RequestMethod.OPTIONS,
  RequestMethod.ALL,
]);

/** Whether some call of such a handler may be repeated. */
export function mayEverRepeat(rule: RetryRule, { http, graphql, rpc, websocket }: HandlerKinds): boolean {
  if (rule === 'never' || rule === 'always') return rule === 'always';
  if (http !== undefined && SAFE_ROUTES.has(http)) return true;
  if (graphql === 'query' || graphql === 'field') return true;

  return rule === 'declared' && (rpc || websocket);
}
