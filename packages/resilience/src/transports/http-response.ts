import type { ServerResponse } from 'node:http';
import { StreamableFile, type ExecutionContext, type HttpServer } from '@nestjs/common';

/** How the transfer of a streamed body ended. */
export type TransferOutcome =
  | { readonly state: 'sent'; readonly error?: undefined }
  | { readonly state: 'failed'; readonly error: unknown }
  /** The client went away: nobody's failure. */
  | { readonly state: 'left'; readonly error?: undefined };

/** What has happened to the response of an HTTP request, on any adapter. */
export class ResponseState {
  private readonly response: unknown;
  private readonly adapter: HttpServer | undefined;

  constructor(context: ExecutionContext, adapter: HttpServer | undefined) {
    this.response = context.switchToHttp().getResponse<unknown>();
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

  /** Whether a handler's value is a body that is read while it is sent. */
  isStream(value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false;
    if (value instanceof StreamableFile) return true;
    if (value instanceof Response) return value.body !== null;

    return value instanceof ReadableStream || Symbol.asyncIterator in value;
  }

  /** Tells, once, how the transfer of this body ended. */
  onTransferred(body: unknown, tell: (outcome: TransferOutcome) => void): void {
    const response = rawResponse(this.response);
    let failure: TransferOutcome | undefined;
    if (body instanceof StreamableFile) {
      body.getStream().once('error', (error) => (failure = { state: 'failed', error }));
    }
    response?.once('close', () => {
      tell(failure ?? (response.writableFinished ? { state: 'sent' } : { state: 'left' }));
    });
  }
}

function rawResponse(response: unknown): ServerResponse | undefined {
  if (typeof response !== 'object' || response === null) return undefined;

  return ((response as { raw?: ServerResponse }).raw ?? response) as ServerResponse;
}
