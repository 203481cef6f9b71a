import {
  hasScheduledTimeout,
  isHandler,
  methodsOf,
  signalParameters,
  writesResponse,
  type Handler,
} from 'holdfast/nest';
import { hasLimit, type MergedStages } from './merge-stages.js';
import { readDeclarations } from './metadata.js';
import type { Draft } from './plan.js';
import { mayEverRepeat } from './repeatable.js';
import type { TimeBudget } from './time-budget.js';

/** What bootstrap says about settings that are legal, and do not do what they seem to. Texts only; no state. */

/** Decorators where nothing reads them: on a class that nobody calls from outside. */
export function warnOfProvider(cls: Function): string[] {
  const decorated = [...methodsOf(cls)].filter(([, method]) => readDeclarations(method) !== undefined);
  const places = decorated.map(([name]) => `${cls.name}.${name}()`);
  if (readDeclarations(cls) !== undefined) places.unshift(cls.name);
  if (places.length === 0) return [];

  return [
    `Resilience decorators on ${places.join(', ')} have no effect: ${cls.name} is not a controller, resolver or gateway. ` +
      'They apply to entrypoints only. Inside services, use a policy object ' +
      '(ResilienceService.preset() or create(), or new RetryPolicy() etc.).',
  ];
}

/** A method of an entry class that is no handler: decorators on it do nothing. */
export function warnOfMethod(handler: Handler): string[] {
  if (isHandler(handler) || readDeclarations(handler.method) === undefined) return [];

  return [
    `Resilience decorators on ${handler.source}() have no effect: ${handler.name}() is not a handler of ` +
      `${handler.cls.name}. Put them on a handler, or use a policy object inside the method ` +
      '(ResilienceService.preset() or create()).',
  ];
}

/** What is odd about one handler. */
export function warnOfHandler(handler: Handler, draft: Draft | null): string[] {
  return [
    ...warnOfSignal(handler, draft),
    ...warnOfScheduledTimeout(handler),
    ...(draft === null
      ? []
      : [warnOfRetry, warnOfSubscription, warnOfResponse, warnOfBreaker].flatMap((warn) => warn(draft))),
  ];
}

/** Its settings hold until the first event, which is too short for a cap on how many there are. */
function warnOfSubscription({ handler: { kinds, source }, stages }: Draft): string[] {
  if (kinds.graphql !== 'subscription' || stages.bulkhead === undefined) return [];

  return [
    `The bulkhead of ${source}() does not limit how many streams are open: it is a GraphQL subscription, whose slot is ` +
      'given back with the first event. Count the streams that are open in what feeds them.',
  ];
}

function warnOfSignal(handler: Handler, draft: Draft | null): string[] {
  if (draft !== null || signalParameters(handler).length === 0) return [];

  return [
    `@Signal() on ${handler.source}() is always undefined: no resilience decorator applies to it, so it has no ` +
      'attempts. Add one, such as @Timeout(), or remove the parameter.',
  ];
}

function warnOfScheduledTimeout({ method, source }: Handler): string[] {
  if (!hasScheduledTimeout(method)) return [];

  return [
    `@Timeout() on ${source}() comes from @nestjs/schedule: it calls the method once, after that time. To limit the ` +
      'time of a request, import Timeout from @nestjs/resilience.',
  ];
}

function warnOfRetry({ handler, stages, rule }: Draft): string[] {
  const { source, kinds } = handler;
  const { retry, retryOnHandler } = stages;
  if (!retryOnHandler) return [];
  if (retry?.attempts === 1) return setsAttempts(handler) ? [] : [singleAttempt(source)];
  if (kinds.requestStream) {
    return [
      `@Retry() on ${source}() never applies: the client of this gRPC method sends a stream, which can be read only ` +
        'once. Retry inside the handler, with a policy object, or let the client repeat the call.',
    ];
  }
  if (rule === 'never' || mayEverRepeat(rule, kinds)) return [];

  return [
    `@Retry() on ${source}() is inactive: it only re-runs safe operations (GET, HEAD, OPTIONS, GraphQL queries). ` +
      'If the handler is safe to repeat, use @Retry({ idempotent: true }).',
  ];
}

/** Whether the decorator on the handler itself says how many attempts there are. */
function setsAttempts({ method }: Handler): boolean {
  const settings = readDeclarations(method)?.stages.retry?.value;

  return typeof settings !== 'object' || settings.attempts !== undefined;
}

function singleAttempt(source: string): string {
  return (
    `@Retry() on ${source}() is inactive: its class, its preset or the defaults allow a single attempt. ` +
    'Set the attempts on the handler, such as @Retry({ attempts: 3 }).'
  );
}

function warnOfResponse({ handler, stages, lostFallback }: Draft): string[] {
  if (!writesResponse(handler)) return [];

  const { source, kinds } = handler;
  // Nothing that is written to a gRPC call after its end does any harm.
  if (kinds.passedThrough) return lostFallback ? [lostOnCall(source)] : [];

  return [...(lostFallback ? [lostOnResponse(source)] : []), ...(hasLimit(stages) ? [late(source, stages)] : [])];
}

function lostOnResponse(source: string): string {
  return (
    `The fallback of ${source}() is left out: the handler writes the response itself (@Res() or @Next()), so what a ` +
    'fallback returns would go nowhere. Use @Res({ passthrough: true }), or answer inside the handler.'
  );
}

function lostOnCall(source: string): string {
  return (
    `The fallback of ${source}() is left out: the handler writes to the gRPC call itself (@GrpcStreamCall()), so what ` +
    'a fallback returns would go nowhere. Use @GrpcStreamMethod(), or answer inside the handler.'
  );
}

function late(source: string, { timeout }: MergedStages): string {
  return (
    `The ${timeout === undefined ? 'budget' : 'timeout'} of ${source}() answers while the handler may still write the response itself (@Res() or @Next()). ` +
    'Use @Res({ passthrough: true }), or stop writing once the signal of @Signal() has aborted.'
  );
}

function warnOfBreaker({ handler, stages }: Draft): string[] {
  if (stages.circuitBreaker === undefined || hasLimit(stages)) return [];

  return [boundlessBreaker(`${handler.source}()`)];
}

/** A breaker learns only from calls that end. */
export function boundlessBreaker(place: string): string {
  return (
    `The circuit breaker of ${place} has no time limit inside: a call that hangs is never counted. ` +
    "Add a timeout, such as @Timeout('2s') or { timeout: '2s' }."
  );
}

/** Entrypoints that may keep their callers waiting for longer than these wait. */
export function warnOfBudget({ source, worstCaseMs, arithmetic }: TimeBudget, clientTimeoutMs: number): string[] {
  if (worstCaseMs <= clientTimeoutMs) return [];

  return [
    `${source}() does not fit into clientTimeout (${clientTimeoutMs} ms): ${arithmetic}. Give it a budget that fits, ` +
      'lower its timeout or attempts, or raise clientTimeout if clients really wait that long.',
  ];
}

/** Most likely a setting that was not found: without the key, nobody would have expected a limit. */
export function unsetLimit(path: string): string {
  const missed = path.endsWith('.budget') ? 'nothing limits all attempts together' : 'an attempt may take for ever';

  return (
    `${path} is given as undefined, so the stage is off: ${missed}. Give it a duration ` +
    '(does it come from an environment variable that is not set?), or leave the key out if that is meant.'
  );
}

export function strayIdempotent(place: string): string {
  return (
    `${place}.retry.idempotent is ignored: it cannot declare every handler that uses it safe to repeat. ` +
    'Say it on the handler: @Retry({ idempotent: true }).'
  );
}

/** A cache that is frozen keeps what it is given. */
export function closedCache(): string {
  return (
    'A cache of @nestjs/cache-manager cannot be kept from storing answers in which something is missing: its set() is ' +
    'read-only. Leave out @UseInterceptors(CacheInterceptor) on handlers that return partial responses, or provide a ' +
    'cache that is not frozen.'
  );
}

/** A handler that Nest runs without interceptors. */
export function skippedField({ name, source }: Handler): string {
  const remedy =
    name === '__resolveType'
      ? 'Nest runs no interceptors on what tells a type. Use a policy object inside of it.'
      : 'Nest runs interceptors on fields and references only when it is told to. Set fieldResolverEnhancers: ' +
        "['interceptors'] in the options of GraphQLModule, or use a policy object inside of the method.";

  return `Resilience decorators on ${source}() have no effect: ${remedy}`;
}

/** A GraphQL server that does not find our plugin in the modules where it looks. */
export function hiddenPlugin(include: readonly string[]): string {
  return (
    `GraphQLModule looks for plugins in ${include.join(', ')} only, and does not find that of ResilienceModule: of a ` +
    'partial response, errors beside values and, on Fastify, headers do not reach the client. Add ResilienceModule ' +
    'to its include, or leave out isGlobal: false.'
  );
}
