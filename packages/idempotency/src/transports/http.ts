import { HttpException, type ExecutionContext } from '@nestjs/common';
import type { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { describeHandler, methodNameOf, writesResponse } from 'holdfast/nest';
import { STATUS_CODES } from 'node:http';
import type { IdempotencyRejectedError } from '../execution/rejection.js';
import { headerKey, type KeyReading } from '../key/idempotency-key.js';
import { httpIdentity } from '../key/request-identity.js';
import { encodeValue, NotStorableError } from '../record/stored-value.js';
import type { HandlerSettings, ModuleSettings } from '../settings.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { replayedHttpError, storedHttpError } from './http-error.js';
import { headerLines, headersOf, requestOf, responseOf, type HttpResponse } from './http-exchange.js';
import { requestedVersion } from './http-version.js';
import { keyBySetting } from './key-source.js';
import { problemDetails } from './problem-details.js';
import type { Outcome, Transport, Unstorable } from './transport.js';

interface Redirect {
  readonly url?: string;
  readonly statusCode?: number;
}

/** Headers that say what an answer is, as they stand when the handler has ended. */
const KEPT = ['location', 'content-type', 'content-language', 'content-location', 'etag', 'last-modified'];
/** Those of an error that clients act on. */
const KEPT_OF_ERRORS = ['retry-after', 'www-authenticate', 'location'];

const REDIRECT = '__redirect__';
const FOUND = 302;

/** HTTP on any adapter. */
export class HttpTransport implements Transport {
  readonly context = 'http';
  readonly answersOnce = true;
  private readonly byThemselves = new WeakMap<Function, boolean>();

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly application: ApplicationConfig,
    private readonly settings: ModuleSettings,
  ) {}

  isCoveredByClass(context: ExecutionContext): boolean {
    return !/^(?:get|head|options)$/i.test(requestOf(context).method);
  }

  keyOf(execution: ExecutionContext, settings: HandlerSettings): KeyReading | Promise<KeyReading> {
    const header = (name: string): KeyReading => headerKey(headerLines(requestOf(execution), name));

    return (
      keyBySetting(settings, { places: { header }, context: this.context, execution }) ?? header(this.settings.header)
    );
  }

  scopeSourceOf(context: ExecutionContext): unknown {
    return requestOf(context);
  }

  userOf(context: ExecutionContext): unknown {
    return requestOf(context).user;
  }

  identityOf(context: ExecutionContext): readonly string[] {
    const request = requestOf(context);
    const { method, originalUrl, url, hostname, headers } = request;
    const authority = headers.host ?? (headers[':authority'] as string | undefined);
    const version = requestedVersion(request, this.application.getVersioning());

    return httpIdentity({ method, host: hostname ?? authority, url: originalUrl ?? url, version });
  }

  payloadOf(context: ExecutionContext): unknown {
    return requestOf(context).body;
  }

  placeOf(): undefined {
    return undefined;
  }

  store(outcome: Outcome, context: ExecutionContext): IdempotencyStoredResponse | Unstorable {
    const response = responseOf(context);
    if (this.isSent(response) || this.answersItself(context)) return { unstorable: 'sends its answer itself' };
    if (outcome.kind === 'error') {
      return { ...storedHttpError(outcome.error), headers: headersOf(response, KEPT_OF_ERRORS) };
    }

    try {
      return this.storeValue(outcome.value, context);
    } catch (error) {
      if (error instanceof NotStorableError) return { unstorable: `returned what cannot be kept: ${error.message}` };
      throw error;
    }
  }

  replay(stored: IdempotencyStoredResponse, context: ExecutionContext): unknown {
    const { httpAdapter } = this.adapterHost;
    const response = responseOf(context);
    httpAdapter.setHeader(response, 'Idempotent-Replayed', 'true');
    for (const [name, value] of Object.entries(stored.headers)) {
      // Adapters pass on what Node takes, lists too.
      httpAdapter.setHeader(response, name, value as string);
    }
    if (stored.error !== undefined) throw replayedHttpError(stored);

    httpAdapter.status(response, stored.status);
    if (declaredRedirect(context) === undefined) return stored.body;

    // Nest redirects by what the handler returns.
    return { ...asObject(stored.body), url: stored.headers['location'], statusCode: stored.status };
  }

  reject(rejection: IdempotencyRejectedError, context: ExecutionContext): unknown {
    const { httpAdapter } = this.adapterHost;
    const response = responseOf(context);
    const { retryAfterSeconds, status, code, message } = rejection;
    if (retryAfterSeconds !== undefined) httpAdapter.setHeader(response, 'Retry-After', String(retryAfterSeconds));
    const { problemType } = this.settings;
    if (problemType === undefined) {
      const body = { statusCode: status, error: STATUS_CODES[status], code, message };
      return new HttpException(body, status, { cause: rejection });
    }

    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    return new HttpException({ ...problemDetails(rejection, problemType) }, status, { cause: rejection });
  }

  private storeValue(value: unknown, context: ExecutionContext): IdempotencyStoredResponse {
    const response = responseOf(context);
    const body = encodeValue(value);
    const headers = headersOf(response, [...KEPT, ...this.settings.replayHeaders]);
    const redirect = redirectBy(value, context);

    return {
      status: redirect?.statusCode ?? response.statusCode,
      headers: redirect?.url === undefined ? headers : { ...headers, location: redirect.url },
      ...(body === undefined ? {} : { body }),
    };
  }

  private isSent(response: HttpResponse): boolean {
    if (response.raw?.headersSent === true || response.headersSent === true || response.sent === true) return true;

    return this.adapterHost.httpAdapter.isHeadersSent?.(response) === true;
  }

  private answersItself(context: ExecutionContext): boolean {
    const method = context.getHandler();
    const known = this.byThemselves.get(method);
    if (known !== undefined) return known;

    const cls = context.getClass();
    const answers = writesResponse(describeHandler(cls, methodNameOf(cls, method) ?? method.name, method));
    this.byThemselves.set(method, answers);
    return answers;
  }
}

function declaredRedirect(context: ExecutionContext): Redirect | undefined {
  return Reflect.getMetadata(REDIRECT, context.getHandler()) as Redirect | undefined;
}

/** What Nest will redirect to: what the handler returned goes before what its decorator says. */
function redirectBy(value: unknown, context: ExecutionContext): Redirect | undefined {
  const declared = declaredRedirect(context);
  if (declared === undefined) return undefined;

  const { url, statusCode } = asObject(value) as Redirect;
  return { url: url ?? declared.url ?? '', statusCode: statusCode ?? declared.statusCode ?? FOUND };
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
