import type { ExecutionContext } from '@nestjs/common';
import { RequestMethod } from '@nestjs/common';
import type { HandlerKinds } from './handler.js';

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

interface HttpRequest {
  readonly method?: unknown;
}

interface GraphqlInfo {
  readonly operation?: { readonly operation?: unknown };
}

const GRAPHQL_INFO = 3;

/** Decides for the call at hand. */
export function mayRepeat(plan: { readonly retry: RetryRule }, context: ExecutionContext): boolean {
  const { retry } = plan;
  if (retry === 'never') return false;
  if (retry === 'always') return true;

  return isSafe(context) ?? retry === 'declared';
}

/**
 * Whether a call has no side effects: on HTTP by the method of the actual request, on GraphQL by the operation.
 * `undefined` on transports that do not tell.
 */
export function isSafe(context: ExecutionContext): boolean | undefined {
  const transport = context.getType<string>();
  if (transport === 'http') return isSafeMethod(context.getArgByIndex<HttpRequest>(0)?.method);
  if (transport === 'graphql') {
    return context.getArgByIndex<GraphqlInfo | undefined>(GRAPHQL_INFO)?.operation?.operation === 'query';
  }

  return undefined;
}

function isSafeMethod(method: unknown): boolean {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return true;

  return typeof method === 'string' && /^(?:get|head|options)$/i.test(method);
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
