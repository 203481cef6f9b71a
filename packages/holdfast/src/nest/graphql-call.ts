import type { ExecutionContext } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { keepDegradedMarks, markDegraded, type DegradedMarks } from './degraded-marks.js';

/** The part of a selection that tells which fields were asked for. */
export interface Selection {
  readonly kind: string;
  readonly name?: { readonly value: string };
  readonly alias?: { readonly value: string } | undefined;
  readonly selectionSet?: { readonly selections: readonly Selection[] } | undefined;
  readonly directives?: readonly Directive[] | undefined;
}

export interface Directive {
  readonly name: { readonly value: string };
  readonly arguments?: readonly { readonly value: DirectiveValue }[] | undefined;
}

interface DirectiveValue {
  readonly kind: string;
  /** Of a literal. */
  readonly value?: unknown;
  /** Of a variable. */
  readonly name?: { readonly value: string };
}

interface Path {
  readonly prev: Path | undefined;
  readonly key: string | number;
}

/** What resolvers are told of the field that they resolve. */
export interface GraphqlInfo {
  readonly operation?: { readonly operation?: unknown; readonly selectionSet?: Selection['selectionSet'] };
  readonly path?: Path;
  readonly fieldNodes?: readonly Selection[];
  readonly fragments?: Readonly<Record<string, Selection>>;
  readonly variableValues?: Readonly<Record<string, unknown>>;
}

/**
 * What GraphQL tells a resolver of its call. It is called with the parent, the arguments, the context and the
 * information, and the resolver of a federated reference with the reference, the context and the information.
 */
export function infoOf(context: ExecutionContext): GraphqlInfo | undefined {
  return objectAt(context, -1);
}

/** The object that all resolvers of an operation share. */
export function operationOf(context: ExecutionContext): object | undefined {
  return objectAt(context, -2);
}

/** Where drivers and applications put the request, and the response. */
interface OperationContext {
  readonly req?: unknown;
  readonly request?: unknown;
  readonly res?: unknown;
  readonly response?: unknown;
  readonly reply?: unknown;
}

/**
 * What may be Node's request, in the order in which to believe it: an HTTP request, or the handshake of a WebSocket.
 *
 * @param operation Which all resolvers share.
 */
export function rawRequestsIn(operation: object): readonly unknown[] {
  const { req, request, reply } = operation as OperationContext;
  const handshake = propertyOf(propertyOf(req, 'extra'), 'request');

  return [req, request, propertyOf(reply, 'request'), handshake].map((one) => propertyOf(one, 'raw') ?? one);
}

/**
 * The response of Node that the answer of an operation leaves with; `undefined` where it cannot be reached, as with Apollo
 * Server on Fastify.
 *
 * @param operation Which all resolvers share.
 */
export function rawResponseIn(operation: object): ServerResponse | undefined {
  const { res, response, reply } = operation as OperationContext;
  const served = rawRequestsIn(operation).find(isRequest);
  if (served === undefined) return undefined;

  return [res, reply, response, propertyOf(served, 'res')].map((one) => propertyOf(one, 'raw') ?? one).find(isResponse);
}

/** Whether it is a request of Node. */
export function isRequest(value: unknown): value is Pick<IncomingMessage, 'headers' | 'socket'> {
  return isObject(propertyOf(value, 'headers')) && isObject(propertyOf(value, 'socket'));
}

function isResponse(value: unknown): value is ServerResponse {
  return typeof propertyOf(value, 'writableEnded') === 'boolean' && typeof propertyOf(value, 'on') === 'function';
}

/**
 * Marks the answer of an operation in which something is missing: on its response, or, where that cannot be reached, on
 * the operation, for a plugin of its server to read.
 *
 * @param part As of {@link markDegraded}.
 */
export function markOperation(operation: object, read: () => DegradedMarks, part?: unknown): void {
  const response = rawResponseIn(operation);
  if (response === undefined) keepDegradedMarks(operation, read, part);
  else markDegraded(response, read, part);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function propertyOf(value: unknown, name: string): unknown {
  return isObject(value) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

const LEAST_ARGUMENTS = 3;

function objectAt(context: ExecutionContext, index: number): object | undefined {
  const args = context.getArgs<unknown[]>();
  const value = args.length < LEAST_ARGUMENTS ? undefined : args.at(index);

  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Whether a call opens the stream of a subscription: at its root, and not at a field of one of its events. */
export function isSubscribing(info: GraphqlInfo | undefined): boolean {
  return info?.operation?.operation === 'subscription' && info.path?.prev === undefined;
}

/** The place of a field in the answer. */
export function pathOf({ path }: GraphqlInfo): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.prev) keys.unshift(at.key);

  return keys;
}
