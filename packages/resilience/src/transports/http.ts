import { HttpException } from '@nestjs/common';
import { DeadlineExceededError, ResilienceTimeoutError, type ResilienceError } from 'holdfast';
import { messageToClients, retryAfterSeconds } from './client-answer.js';
import type { ResponseState } from './http-response.js';

const GATEWAY_TIMEOUT = 504;
const SERVICE_UNAVAILABLE = 503;

/**
 * The answer of an HTTP client whose request met a policy: 504 for a timeout, since 408 would blame the client, and 503
 * for a refusal, with `Retry-After` where the time is known.
 */
export function toHttpException(error: ResilienceError, response: ResponseState): HttpException {
  const seconds = retryAfterSeconds(error);
  if (seconds !== undefined) response.setHeader('Retry-After', String(seconds));
  response.declareJson();
  const timedOut = error instanceof ResilienceTimeoutError || error instanceof DeadlineExceededError;
  const statusCode = timedOut ? GATEWAY_TIMEOUT : SERVICE_UNAVAILABLE;
  const reason = timedOut ? 'Gateway Timeout' : 'Service Unavailable';

  return new HttpException(
    { statusCode, error: reason, message: messageToClients(error), code: error.code },
    statusCode,
    { cause: error },
  );
}
