import type { IncomingMessage, ServerResponse } from 'node:http';
import { isClientGone, onClientGone } from 'holdfast/binding';
import { rawRequestsIn } from 'holdfast/nest';
import type { Exchange } from './transport.js';

type Request = Pick<IncomingMessage, 'headers' | 'socket'> & { readonly stream?: unknown };
type Response = Pick<ServerResponse, 'headersSent' | 'writableEnded' | 'writableFinished' | 'on' | 'off'>;

/** Where drivers and applications put the answer. */
interface OperationContext {
  readonly res?: unknown;
  readonly response?: unknown;
  readonly reply?: unknown;
}

/**
 * The HTTP request that an operation came with, or the handshake of its WebSocket. Its answer is that of all fields
 * together, so that no resolver has begun to send it. Of some drivers only the request can be reached.
 */
export class GraphqlExchange implements Exchange {
  private constructor(
    private readonly request: Request,
    /** What answers it, where that can be reached. */
    readonly response: Response | undefined,
  ) {}

  /** `undefined` where the context has no request of Node's. */
  static in(context: OperationContext | undefined): GraphqlExchange | undefined {
    if (context === undefined) return undefined;

    const served = rawRequestsIn(context).find(isRequest);
    if (served === undefined) return undefined;

    const { res, response, reply } = context;
    return new GraphqlExchange(served, [res, reply, response, propertyOf(served, 'res')].map(rawOf).find(isResponse));
  }

  /** A WebSocket was asked for long before the operations on it, which have no headers of their own. */
  headerOf(name: string): string | readonly string[] | undefined {
    const { headers } = this.request;

    return headers.upgrade === undefined ? headers[name] : undefined;
  }

  hasBegun(): boolean {
    return this.response?.headersSent === true;
  }

  get clientLeft(): boolean {
    return isClientGone(this.request, this.served);
  }

  onClientLeft(listener: () => void): () => void {
    return onClientGone(this.request, this.served, listener);
  }

  /** Streams in an answer are lists. */
  isStreamed(): boolean {
    return false;
  }

  followTransfer(body: unknown): unknown {
    return body;
  }

  /** Without a response: while a resolver runs, its answer has not been sent. */
  private get served(): Parameters<typeof isClientGone>[1] {
    return this.response ?? unsent(this.request);
  }
}

function unsent({ stream }: Request): Parameters<typeof isClientGone>[1] {
  const never = { writableEnded: false, writableFinished: false, on: () => {}, off: () => {} };

  return isConnection(stream) ? { ...never, stream } : never;
}

type Connection = NonNullable<Parameters<typeof isClientGone>[1]['stream']>;

function isConnection(value: unknown): value is Connection {
  return typeof propertyOf(value, 'on') === 'function' && typeof propertyOf(value, 'destroyed') === 'boolean';
}

/** Frameworks wrap Node's objects. */
function rawOf(value: unknown): unknown {
  return propertyOf(value, 'raw') ?? value;
}

function isRequest(value: unknown): value is Request {
  return isObject(propertyOf(value, 'headers')) && isObject(propertyOf(value, 'socket'));
}

function isResponse(value: unknown): value is Response {
  return typeof propertyOf(value, 'writableEnded') === 'boolean' && typeof propertyOf(value, 'on') === 'function';
}

function propertyOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
