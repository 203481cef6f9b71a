import { OptionError } from 'holdfast/binding';
import { writesResponse, type GraphqlServers, type Handler } from 'holdfast/nest';
import { IDEMPOTENT, type IdempotentMetadata } from '../idempotency.decorator.js';
import type { IdempotencyContext } from '../idempotency.options.js';
import { sourcesFor } from '../transports/key-source.js';
import { settingFor } from '../settings.js';
import type { HandlerPlan } from './handler-plans.js';

/** What is warned of, in the topics of warnings that calls would give. */
export interface HandlerWarning {
  readonly topic: string;
  /** The end of a sentence that begins with the handler's name. */
  readonly message: string;
}

const STREAM = 'a stream of events cannot be replayed';
const REFERENCE = 'graphql:resolve_reference';

/** `GET`, `OPTIONS` and `HEAD`, as Nest numbers the methods of routes. */
const SAFE_METHODS = [0, 6, 7];

/** The kinds of calls of a handler that its decorators cover. */
export function coveredContexts({ kinds }: Handler, { byClassOnly }: HandlerPlan): IdempotencyContext[] {
  const isHttp = kinds.http !== undefined && !(byClassOnly && SAFE_METHODS.includes(kinds.http));
  const isGraphql = kinds.graphql !== undefined && !(byClassOnly && kinds.graphql !== 'mutation');

  return [
    ...(isHttp ? ['http' as const] : []),
    ...(isGraphql ? ['graphql' as const] : []),
    ...(kinds.rpc ? ['rpc' as const] : []),
  ];
}

/**
 * Keys would not be found there: each call would fail.
 *
 * @throws TypeError naming handler and option.
 */
export function checkKeySource(handler: Handler, plan: HandlerPlan): void {
  for (const context of coveredContexts(handler, plan)) {
    const source = settingFor(plan.settings.keyFrom, context);
    if (typeof source !== 'object') continue;
    const unfit = Object.keys(source).find((kind) => !sourcesFor(context).includes(kind));
    if (unfit === undefined) continue;

    throw new OptionError(
      `@Idempotent() on ${plan.source}: keyFrom`,
      `{ ${unfit} } does not fit a call over ${context}, whose keys are found by ${sourcesFor(context).join(' or ')}. ` +
        'Use { http, graphql, rpc } for a handler that is called in several ways.',
    );
  }
}

/** What stands on a handler and has no effect, or not the one that it seems to have. */
export function warningsOf(handler: Handler, plan: HandlerPlan, servers: GraphqlServers): HandlerWarning[] {
  const covered = coveredContexts(handler, plan);
  const why = plan.byClassOnly && covered.length === 0 ? undefined : whyWithoutEffect(handler, servers);
  if (why !== undefined) return [{ ...why, message: `is @Idempotent() without effect: ${why.message}.` }];
  if (covered.length === 0) return [];

  return [...warnOfAnswer(handler, covered), ...warnOfScope(plan, covered), ...warnOfOtherKinds(handler, covered)];
}

function whyWithoutEffect(handler: Handler, servers: GraphqlServers): HandlerWarning | undefined {
  const { kinds, method } = handler;
  if (kinds.serverSentEvents || kinds.graphql === 'subscription') return { topic: 'pass-through', message: STREAM };
  if (Reflect.hasMetadata(REFERENCE, method)) {
    return { topic: 'pass-through', message: 'a reference is looked up for others' };
  }
  if (kinds.passedThrough) return { topic: 'pass-through', message: 'the handler answers its call by itself' };
  if (kinds.requestStream) {
    return { topic: 'pass-through', message: 'a stream of requests cannot be compared with another' };
  }
  if (servers.skipInterceptors(handler)) {
    const message = "GraphQLModule needs fieldResolverEnhancers: ['interceptors'] for it";
    return { topic: 'pass-through', message };
  }
  if (!kinds.websocket || kinds.http !== undefined || kinds.rpc || kinds.graphql !== undefined) return undefined;

  return { topic: 'unsupported', message: 'keys do not exist for calls over ws. Use IdempotencyService.run()' };
}

function warnOfAnswer(handler: Handler, covered: readonly IdempotencyContext[]): HandlerWarning[] {
  if (!covered.includes('http') || !writesResponse(handler)) return [];

  const message = 'sends its answer itself; such answers are not kept, and a repeated call runs the handler again.';
  return [{ topic: 'unreplayable', message }];
}

/** A map is made by somebody who thought of each kind of call. */
function warnOfScope({ settings: { scope } }: HandlerPlan, covered: readonly IdempotencyContext[]): HandlerWarning[] {
  if (typeof scope !== 'object') return [];

  return covered
    .filter((context) => scope[context] === undefined)
    .map((context) => ({
      topic: `scope over ${context}`,
      message: `has no scope for calls over ${context}: all callers share their keys. Add it to the map, or false.`,
    }));
}

/** What was said for a kind of call on the handler itself is meant for it. */
function warnOfOtherKinds({ method }: Handler, covered: readonly IdempotencyContext[]): HandlerWarning[] {
  const own = Reflect.getMetadata(IDEMPOTENT, method) as IdempotentMetadata | undefined;
  if (own === undefined || own === false) return [];

  return (['keyFrom', 'scope'] as const).flatMap((option) => {
    const setting = own[option];
    if (typeof setting !== 'object') return [];
    const others = (['http', 'graphql', 'rpc'] as const).filter((kind) => kind in setting && !covered.includes(kind));

    return others.map((kind) => ({
      topic: `${option} over ${kind}`,
      message: `has @Idempotent({ ${option}: { ${kind} } }), and is not called over ${kind}.`,
    }));
  });
}
