import type { ServerResponse } from 'node:http';
import type { ExecutionContext, HttpServer } from '@nestjs/common';
import { followTransfer, type TransferOutcome } from './transfer.js';

/** What has happened to the response of an HTTP request, on any adapter. */
export class ResponseState {
  private readonly response: unknown;
  private readonly adapter: HttpServer | undefined;

  constructor(context: ExecutionContext, adapter: HttpServer | undefined) {
    // `switchToHttp()` makes three closures; the response is the second argument of every HTTP handler.
    this.response = context.getArgByIndex<unknown>(1);
    this.adapter = adapter;
  }

  /** Node's own answer first: that of Fastify's reply turns true too late. */
  headersSent(): boolean {
    if (rawResponse(this.response)?.headersSent === true) return true;

    return this.adapter?.isHeadersSent?.(this.response) === true;
  }

  setHeader(name: string, value: string): void {
    if (this.adapter !== undefined && !this.headersSent()) this.adapter.setHeader(this.response, name, value);
  }

  /** The type that the route declares is that of its answer; an error that replaces it is JSON. */
  declareJson(): void {
    const declared: unknown = (this.response as Partial<ServerResponse>).getHeader?.('Content-Type');
    if (typeof declared === 'string' && !declared.startsWith('application/json')) {
      this.setHeader('Content-Type', 'application/json; charset=utf-8');
    }
  }

  /** Tells, once, how the transfer of a streamed body ended. Returns the body to send. */
  followTransfer(body: unknown, tell: (outcome: TransferOutcome) => void): unknown {
    const response = rawResponse(this.response);

    return response === undefined ? body : followTransfer(body, response, tell);
  }
}

function rawResponse(response: unknown): ServerResponse | undefined {
  if (typeof response !== 'object' || response === null) return undefined;

  return ((response as { raw?: ServerResponse }).raw ?? response) as ServerResponse;
}
