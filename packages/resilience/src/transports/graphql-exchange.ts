import type { IncomingMessage, ServerResponse } from 'node:http';
import { isClientGone, onClientGone } from 'holdfast/binding';
import { isRequest, rawRequestsIn, rawResponseIn } from 'holdfast/nest';
import type { Exchange } from './transport.js';

type Request = Pick<IncomingMessage, 'headers' | 'socket'> & { readonly stream?: unknown };
type Response = Pick<ServerResponse, 'headersSent' | 'writableEnded' | 'writableFinished' | 'on' | 'off'>;

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
  static in(operation: object | undefined): GraphqlExchange | undefined {
    if (operation === undefined) return undefined;

    const served = rawRequestsIn(operation).find(isRequest);
    return served && new GraphqlExchange(served, rawResponseIn(operation));
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

function propertyOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
