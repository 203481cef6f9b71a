import { HttpException } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import { encodeValue } from '../record/stored-value.js';
import type { IdempotencyStoredResponse } from '../store.js';

type StoredError = Omit<IdempotencyStoredResponse, 'headers'>;

const INTERNAL_ERROR = 500;

/** What an error ends a call over HTTP with, without anything of it that clients do not see. */
export function storedHttpError(error: unknown): StoredError {
  if (isHttpException(error)) {
    return { status: error.getStatus(), body: encodeValue(error.getResponse()), error: 'http' };
  }

  const status = clientErrorOf(error);
  if (status === undefined) {
    const body = { statusCode: INTERNAL_ERROR, message: 'Internal server error' };
    return { status: INTERNAL_ERROR, body, error: 'http' };
  }

  return { status, body: HttpException.createBody('', STATUS_CODES[status] ?? 'Client Error', status), error: 'http' };
}

/** Nest's base class: what an exception of its own derived from is not kept. */
export function replayedHttpError({ body, status }: StoredError): HttpException {
  return new HttpException((body === undefined ? '' : body) as string | Record<string, unknown>, status);
}

interface HttpExceptionShape {
  getStatus(): number;
  getResponse(): unknown;
}

/** By shape, since there may be several copies of Nest. */
export function isHttpException(error: unknown): error is HttpExceptionShape {
  if (typeof error !== 'object' || error === null) return false;

  const { getStatus, getResponse } = error as Partial<HttpExceptionShape>;
  return typeof getStatus === 'function' && typeof getResponse === 'function';
}

/** Libraries put a status on their errors; only one that says the client was wrong is an answer to it. */
function clientErrorOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;

  const { status, statusCode } = error as { readonly status?: unknown; readonly statusCode?: unknown };
  return [status, statusCode].find(
    (code): code is number => Number.isInteger(code) && (code as number) >= 400 && (code as number) < 500,
  );
}
