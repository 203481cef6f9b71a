import type { ExecutionContext, HttpServer } from '@nestjs/common';
import { ResilienceError } from 'holdfast';
import { toHttpException } from './http.js';
import { ResponseState } from './http-response.js';

/** The transport's own error in place of a policy's; every other error as it is. */
export function mapError(error: unknown, context: ExecutionContext, adapter: HttpServer | undefined): unknown {
  if (!(error instanceof ResilienceError) || context.getType() !== 'http') return error;

  return toHttpException(error, new ResponseState(context, adapter));
}
