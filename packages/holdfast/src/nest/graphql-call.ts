import type { ExecutionContext } from '@nestjs/common';

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

/** Where drivers and applications put the request. */
interface OperationContext {
  readonly req?: unknown;
  readonly request?: unknown;
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

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
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
