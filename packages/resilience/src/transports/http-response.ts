import type { ServerResponse } from 'node:http';
import type { HttpServer } from '@nestjs/common';
import { isClientGone, onClientGone } from 'holdfast/binding';
import { followTransfer, isStreamedBody, onResponseOver, type TransferOutcome } from './transfer.js';
import type { Exchange, StreamedBodies } from './transport.js';

/**
 * What has happened to the response of an HTTP request, on any adapter. Other packages let calls of their own through
 * interceptors as if they were HTTP requests, without a response or with something else in its place: those have sent
 * nothing, and take no header.
 */
export class ResponseState implements Exchange, StreamedBodies {
  private readonly response: object | undefined;
  private readonly adapter: HttpServer | undefined;

  /** @param response That of Node, or what a framework wraps around it. */
  constructor(response: unknown, adapter: HttpServer | undefined) {
    this.response = typeof response === 'object' && response !== null ? response : undefined;
    this.adapter = adapter;
  }

  get bodies(): StreamedBodies {
    return this;
  }

  hasBegun(): boolean {
    return this.headersSent();
  }

  /** Node's own answer first: that of Fastify's reply turns true too late. */
  headersSent(): boolean {
    if (this.response === undefined) return false;
    if (rawResponse(this.response).headersSent === true) return true;

    return this.adapter?.isHeadersSent?.(this.response) === true;
  }

  setHeader(name: string, value: string): void {
    if (this.response === undefined || this.adapter === undefined || this.headersSent()) return;
    try {
      this.adapter.setHeader(this.response, name, value);
    } catch {
      // Not a response after all. The error that the header goes with is what counts.
    }
  }

  /** The type that the route declares is that of its answer; an error that replaces it is JSON. */
  declareJson(): void {
    const declared: unknown = (this.response as Partial<ServerResponse> | undefined)?.getHeader?.('Content-Type');
    if (typeof declared === 'string' && !declared.startsWith('application/json')) {
      this.setHeader('Content-Type', 'application/json; charset=utf-8');
    }
  }

  get statusCode(): number {
    return this.response === undefined ? 200 : rawResponse(this.response).statusCode;
  }

  /** What tells it from other responses. */
  get identity(): ServerResponse | undefined {
    return this.response && rawResponse(this.response);
  }

  /** Whether it tells when it is over. */
  get canBeFollowed(): boolean {
    return this.response !== undefined && typeof rawResponse(this.response).once === 'function';
  }

  get clientLeft(): boolean {
    if (this.response === undefined) return false;

    const response = rawResponse(this.response);
    return isClientGone(response.req, response);
  }

  onClientLeft(listener: () => void): () => void {
    if (this.response === undefined) return () => {};

    const response = rawResponse(this.response);
    return onClientGone(response.req, response, listener);
  }

  /** Calls `listener`, once, when it has been sent completely, or will not be any more. */
  onOver(listener: (complete: boolean) => void): void {
    if (this.response !== undefined) onResponseOver(rawResponse(this.response), listener);
  }

  isStreamed(value: unknown): boolean {
    return this.canBeFollowed && isStreamedBody(value);
  }

  followTransfer(body: unknown, tell: (outcome: TransferOutcome) => void): unknown {
    return this.response === undefined ? body : followTransfer(body, rawResponse(this.response), tell);
  }
}

function rawResponse(response: object): ServerResponse {
  return (response as { readonly raw?: ServerResponse }).raw ?? (response as ServerResponse);
}
