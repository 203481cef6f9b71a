import { HttpException, type ExecutionContext } from '@nestjs/common';
import type { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { degradedHeaders } from 'holdfast';
import {
  beforeHead,
  degradedMarksOf,
  describeHandler,
  markDegraded,
  methodNameOf,
  partialIn,
  writesResponse,
  type DegradedMarks,
} from 'holdfast/nest';
import { STATUS_CODES } from 'node:http';
import type { IdempotencyRejectedError } from '../execution/rejection.js';
import { headerKey, type KeyReading } from '../key/idempotency-key.js';
import { httpIdentity } from '../key/request-identity.js';
import { encodeValue, NotStorableError } from '../record/stored-value.js';
import type { HandlerSettings, ModuleSettings } from '../settings.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { replayedHttpError, storedHttpError } from './http-error.js';
import {
  hasBody,
  headerLines,
  headersOf,
  isCutShort,
  rawResponse,
  requestOf,
  responseOf,
  type HttpResponse,
} from './http-exchange.js';
import { requestedVersion } from './http-version.js';
import { keptMarks } from './kept-marks.js';
import { keyBySetting } from './key-source.js';
import { problemDetails } from './problem-details.js';
import type { Outcome, Transport, Unstorable } from './transport.js';

interface Redirect {
  readonly url?: string;
  readonly statusCode?: number;
}

/** Headers that say what an answer is, as they stand when the handler has ended. */
const KEPT = [
  'location',
  'content-type',
  'content-language',
  'content-location',
  // Of a body that the handler has encoded itself: compression comes later.
  'content-encoding',
  'etag',
  'last-modified',
];
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
    const { method, originalUrl, url, host, hostname, headers } = request;
    const authority = headers.host ?? (headers[':authority'] as string | undefined);
    const version = requestedVersion(request, this.application.getVersioning());

    return httpIdentity({ method, host: host ?? hostname ?? authority, url: originalUrl ?? url, version });
  }

  payloadOf(context: ExecutionContext): unknown {
    return requestOf(context).body;
  }

  /** Files, for example, are parsed by interceptors, which run later. */
  hidesPayload(context: ExecutionContext): boolean {
    const request = requestOf(context);

    return request.body === undefined && hasBody(request);
  }

  placeOf(): undefined {
    return undefined;
  }

  isCutShort(context: ExecutionContext): boolean {
    return isCutShort(requestOf(context));
  }

  store(outcome: Outcome, context: ExecutionContext): IdempotencyStoredResponse | Unstorable {
    const response = responseOf(context);
    if (this.isSent(response) || this.answersItself(context)) return { unstorable: 'sends its answer itself' };

    try {
      if (outcome.kind === 'error') {
        return { ...storedHttpError(outcome.error), headers: headersOf(response, KEPT_OF_ERRORS) };
      }
      return this.storeValue(outcome.value, context);
    } catch (error) {
      if (error instanceof NotStorableError) return { unstorable: `ended with what cannot be kept: ${error.message}` };
      throw error;
    }
  }

  replay(stored: IdempotencyStoredResponse, context: ExecutionContext): unknown {
    const { httpAdapter } = this.adapterHost;
    const response = responseOf(context);
    this.setHeader(response, 'Idempotent-Replayed', 'true');
    for (const [name, value] of Object.entries(stored.headers)) this.setHeader(response, name, value);
    const { degraded } = stored;
    if (degraded !== undefined) markDegraded(rawResponse(response), () => degraded);
    if (stored.error !== undefined) throw replayedHttpError(stored);

    httpAdapter.status(response, stored.status);
    if (declaredRedirect(context) === undefined) return stored.body;

    // Nest redirects by what the handler returns.
    return { ...asObject(stored.body), url: stored.headers['location'], statusCode: stored.status };
  }

  reject(rejection: IdempotencyRejectedError, context: ExecutionContext): unknown {
    const response = responseOf(context);
    const { retryAfterSeconds, status, code, message } = rejection;
    if (retryAfterSeconds !== undefined) this.setHeader(response, 'Retry-After', String(retryAfterSeconds));
    this.declareJson(response);
    const { problemType } = this.settings;
    if (problemType === undefined) {
      const body = { statusCode: status, error: STATUS_CODES[status], code, message };
      return new HttpException(body, status, { cause: rejection });
    }

    declareProblem(response);
    return new HttpException({ ...problemDetails(rejection, problemType) }, status, { cause: rejection });
  }

  private storeValue(value: unknown, context: ExecutionContext): IdempotencyStoredResponse {
    const response = responseOf(context);
    const body = encodeValue(value);
    const headers = headersOf(response, [...KEPT, ...this.settings.replayHeaders]);
    const redirect = redirectBy(value, context);

    return {
      status: redirect?.statusCode ?? response.statusCode,
      headers: redirect?.url === undefined ? headers : { ...headers, location: encodedUrl(redirect.url) },
      ...(body !== undefined && { body }),
      ...keptMarks(marksOf(value, response)),
    };
  }

  /** Middleware may have answered already, because it was not to wait any longer: then Node refuses headers. */
  private setHeader(response: HttpResponse, name: string, value: string | readonly string[]): void {
    // Adapters pass on what Node takes, lists too.
    if (!this.isSent(response)) this.adapterHost.httpAdapter.setHeader(response, name, value as string);
  }

  /** The type that a route declares is that of its answers, and not that of errors. */
  private declareJson(response: HttpResponse): void {
    const declared = response.getHeader?.('content-type');
    if (typeof declared === 'string' && !declared.startsWith('application/json')) {
      // To the letter: adapters of Nest 11 warn of all else, and servers add the charset.
      this.setHeader(response, 'Content-Type', 'application/json');
    }
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

/** When it leaves: adapters of Nest 11 allow an object that is an error no type but that of JSON. */
function declareProblem(response: HttpResponse): void {
  beforeHead(rawResponse(response), (head) => {
    const type = head.getHeader('content-type');
    if (typeof type !== 'string') return;
    head.setHeader('content-type', type.replace(/^application\/json/, 'application/problem+json'));
  });
}

function declaredRedirect(context: ExecutionContext): Redirect | undefined {
  return Reflect.getMetadata(REDIRECT, context.getHandler()) as Redirect | undefined;
}

/** What Nest will redirect to: what the handler returned goes before what its decorator says. */
function redirectBy(value: unknown, context: ExecutionContext): Redirect | undefined {
  const declared = declaredRedirect(context);
  if (declared === undefined) return undefined;

  const { url, statusCode } = asObject(value) as Redirect;
  // As Nest has it: what is empty says nothing.
  return { url: url || declared.url || '', statusCode: statusCode || declared.statusCode || FOUND };
}

/** As it can stand in a header; what frameworks encode beyond that, they encode again. */
function encodedUrl(url: string): string {
  // By way of bytes, which know no half of a character.
  return Buffer.from(String(url))
    .toString()
    .replace(/[^!-~]/gu, encodeURIComponent);
}

/** What says of this answer that something is missing; without a package that sets it, what the engine has for that. */
function marksOf(value: unknown, response: HttpResponse): DegradedMarks | undefined {
  const page = partialIn(value);

  return (
    degradedMarksOf(rawResponse(response)) ?? (page?.partial === true ? degradedHeaders(page.degraded) : undefined)
  );
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
