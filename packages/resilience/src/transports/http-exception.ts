import { STATUS_CODES } from 'node:http';
import { GoneException, HttpException, NotFoundException } from '@nestjs/common';
import { ClientDisconnectedError, type ResilienceError } from 'holdfast';
import { CLIENT_CLOSED_REQUEST, messageToClients, retryAfterSeconds, statusOf } from './client-answer.js';
import type { ResponseState } from './http-response.js';

/**
 * The answer of an HTTP client whose request met a policy: 504 for a timeout, since 408 would blame the client, and 503
 * for a refusal, with `Retry-After` where the time is known. A section without which there is no answer has a status
 * of its own; where its dependency says that there is no such thing, the client is told just that.
 */
export function toHttpException(error: ResilienceError, response: ResponseState): HttpException {
  if (error instanceof ClientDisconnectedError) return clientGone(error);

  const seconds = retryAfterSeconds(error);
  if (seconds !== undefined) response.setHeader('Retry-After', String(seconds));
  response.declareJson();
  const statusCode = statusOf(error);
  const options = { cause: error };
  if (statusCode === 404) return new NotFoundException(undefined, options);
  if (statusCode === 410) return new GoneException(undefined, options);

  const reason = STATUS_CODES[statusCode] ?? 'Error';
  return new HttpException(
    { statusCode, error: reason, message: messageToClients(error), code: error.code },
    statusCode,
    options,
  );
}

/** An HTTP exception, since those are not logged as errors of the server, and not one that a filter would alarm for. */
function clientGone(error: ClientDisconnectedError): HttpException {
  const body = { statusCode: CLIENT_CLOSED_REQUEST, error: 'Client Closed Request', message: error.message };

  return new HttpException({ ...body, code: error.code }, CLIENT_CLOSED_REQUEST, { cause: error });
}
