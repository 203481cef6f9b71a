import type {} from 'reflect-metadata';
import type { RequestMethod } from '@nestjs/common';
import { readsSignal } from './signal-parameter.js';

/**
 * What Nest's own metadata says about a class or a method. The keys are spelt out, since most of them belong to
 * packages that an application need not have.
 */

const CONTROLLER = '__controller__';
const ENTRY_PROVIDER = '__entryProvider__';
const GATEWAY = 'websockets:is_gateway';

const HTTP_PATH = 'path';
const HTTP_METHOD = 'method';
const SERVER_SENT_EVENTS = '__sse__';
const MESSAGE_PATTERN = 'microservices:pattern';
const WEBSOCKET_MESSAGE = 'message';
const GRAPHQL_OPERATION = 'graphql:resolver_type';
const GRAPHQL_FIELD = 'graphql:resolve_property';
const GRAPHQL_REFERENCE = 'graphql:resolve_reference';
const SCHEDULED_TIMEOUT = 'SCHEDULE_TIMEOUT_OPTIONS';

const PARAMETERS = '__routeArguments__';
const PASSTHROUGH = '__responsePassthrough__';
/** `@Ack()` of gateways, in the same way. */
const ACKNOWLEDGEMENT = /^13:/;
/** `@Res()` and `@Next()`, as the keys of the parameters' metadata begin. */
const RESPONSE_OR_NEXT = /^[12]:/;

/** `RequestMethod.ALL`, without the package. */
const EVERY_METHOD: RequestMethod.ALL = 5;

export type GraphqlPart = 'query' | 'mutation' | 'subscription' | 'field';

/** The ways into a method. A method may have several. */
export interface HandlerKinds {
  /** The HTTP method that the route is declared for. */
  readonly http: RequestMethod | undefined;
  readonly serverSentEvents: boolean;
  readonly graphql: GraphqlPart | undefined;
  /** A message or event pattern. */
  readonly rpc: boolean;
  readonly websocket: boolean;
  /** A gRPC method whose client sends a stream: it can be read once only. */
  readonly requestStream: boolean;
  /** One of those whose handler reads from the call and writes to it by itself. */
  readonly passedThrough: boolean;
}

/** A method of an entry class. */
export interface Handler {
  readonly cls: Function;
  readonly name: string;
  readonly method: Function;
  /** How events and messages call it, such as `ShippingController.getQuotes`. */
  readonly source: string;
  readonly kinds: HandlerKinds;
}

/** Whether Nest lets requests, messages or queries into methods of this class. */
export function isEntryClass(cls: Function): boolean {
  return [CONTROLLER, ENTRY_PROVIDER, GATEWAY].some((key) => Reflect.hasMetadata(key, cls));
}

export function describeHandler(cls: Function, name: string, method: Function): Handler {
  return { cls, name, method, source: `${cls.name}.${name}`, kinds: kindsOf(method) };
}

/** Whether Nest calls this method from outside. */
export function isHandler({ kinds }: Handler): boolean {
  return kinds.http !== undefined || kinds.graphql !== undefined || kinds.rpc || kinds.websocket;
}

function kindsOf(method: Function): HandlerKinds {
  const pattern: unknown = Reflect.getMetadata(MESSAGE_PATTERN, method);

  return {
    http: Reflect.hasMetadata(HTTP_PATH, method)
      ? ((Reflect.getMetadata(HTTP_METHOD, method) as RequestMethod | undefined) ?? EVERY_METHOD)
      : undefined,
    serverSentEvents: Reflect.getMetadata(SERVER_SENT_EVENTS, method) === true,
    graphql: graphqlPartOf(method),
    rpc: pattern !== undefined,
    websocket: Reflect.hasMetadata(WEBSOCKET_MESSAGE, method),
    requestStream: isStreaming(pattern, 'rx_stream') || isStreaming(pattern, 'pt_stream'),
    passedThrough: isStreaming(pattern, 'pt_stream'),
  };
}

function graphqlPartOf(method: Function): GraphqlPart | undefined {
  if (Reflect.hasMetadata(GRAPHQL_FIELD, method) || Reflect.hasMetadata(GRAPHQL_REFERENCE, method)) return 'field';

  const operation: unknown = Reflect.getMetadata(GRAPHQL_OPERATION, method);
  if (typeof operation !== 'string') return undefined;

  const part = operation.toLowerCase();
  return part === 'query' || part === 'mutation' || part === 'subscription' ? part : 'field';
}

function isStreaming(pattern: unknown, way: string): boolean {
  const patterns: readonly unknown[] = Array.isArray(pattern) ? pattern : [pattern];

  return patterns.some((one) => (one as { readonly streaming?: unknown } | undefined | null)?.streaming === way);
}

interface ParameterMetadata {
  readonly index: number;
  readonly factory?: unknown;
}

function parametersOf({ cls, name }: Pick<Handler, 'cls' | 'name'>): Readonly<Record<string, ParameterMetadata>> {
  return (Reflect.getMetadata(PARAMETERS, cls, name) as Record<string, ParameterMetadata> | undefined) ?? {};
}

/** Which of the handler's parameters are a `@Signal()`, counted from 0. */
export function signalParameters(handler: Handler): number[] {
  return Object.values(parametersOf(handler)).flatMap(({ factory, index }) => (readsSignal(factory) ? [index] : []));
}

/** Whether the handler writes the answer itself: with `@Res()` or `@Next()` without `passthrough`, or to a gRPC call. */
export function writesResponse(handler: Handler): boolean {
  if (handler.kinds.passedThrough) return true;
  if (handler.kinds.http === undefined) return false;
  if (Reflect.getMetadata(PASSTHROUGH, handler.cls, handler.name) === true) return false;

  return Object.keys(parametersOf(handler)).some((key) => RESPONSE_OR_NEXT.test(key));
}

/** Whether a gateway's handler acknowledges messages by itself. */
export function takesAcknowledgement(cls: Function, method: Function): boolean {
  const name = methodNameOf(cls, method);

  return name !== undefined && Object.keys(parametersOf({ cls, name })).some((key) => ACKNOWLEDGEMENT.test(key));
}

/** Whether a `@Timeout()` of `@nestjs/schedule` stands on the method: same name, other package. */
export function hasScheduledTimeout(method: Function): boolean {
  return Reflect.hasMetadata(SCHEDULED_TIMEOUT, method);
}

/** The methods of a class, inherited ones too, by name, as Nest finds them. */
export function* methodsOf(cls: Function): Generator<readonly [string, Function]> {
  const seen = new Set<string>(['constructor']);
  let prototype: unknown = cls.prototype;
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (seen.has(name)) continue;

      seen.add(name);
      if (typeof descriptor.value === 'function') yield [name, descriptor.value as Function];
    }
    prototype = Object.getPrototypeOf(prototype);
  }
}

/** The name under which a class has this method; the function's own name may be another one, or none. */
export function methodNameOf(cls: Function, method: Function): string | undefined {
  for (const [name, candidate] of methodsOf(cls)) if (candidate === method) return name;

  return undefined;
}
