import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { ResilienceError } from 'holdfast';
import { partialIn } from 'holdfast/nest';
import { AnswerMarks } from '../degradation/answer-marks.js';
import type { DegradedSettings } from '../degradation/degraded-options.js';
import { toHttpException } from './http-exception.js';
import { ResponseState } from './http-response.js';
import type { Transport } from './transport.js';

interface HttpRequest {
  readonly method?: unknown;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** HTTP on any adapter, server-sent events included. */
export class HttpTransport implements Transport {
  readonly answersOnce = true;
  private readonly marks: AnswerMarks;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    degraded: DegradedSettings,
  ) {
    this.marks = new AnswerMarks(degraded);
  }

  exchangeOf(context: ExecutionContext): ResponseState {
    // `switchToHttp()` makes three closures; the response is the second argument of every HTTP handler.
    return new ResponseState(context.getArgByIndex(1), this.adapterHost.httpAdapter);
  }

  isSafe(context: ExecutionContext): boolean {
    return isSafeMethod(requestOf(context)?.method);
  }

  headerOf(context: ExecutionContext, name: string): string | readonly string[] | undefined {
    return requestOf(context)?.headers?.[name];
  }

  translate(error: ResilienceError, context: ExecutionContext): unknown {
    return toHttpException(error, this.exchangeOf(context));
  }

  mark(answer: unknown, context: ExecutionContext): void {
    const page = partialIn(answer);
    if (page !== undefined) this.marks.mark(page, this.exchangeOf(context).identity);
  }
}

function requestOf(context: ExecutionContext): HttpRequest | undefined {
  return context.getArgByIndex<HttpRequest | undefined>(0);
}

/** RFC 9110, section 9.2.1. `TRACE` is not among them: nobody serves it. */
function isSafeMethod(method: unknown): boolean {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return true;

  return typeof method === 'string' && /^(?:get|head|options)$/i.test(method);
}
