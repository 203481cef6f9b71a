import {
  HttpException,
  Injectable,
  Logger,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { ResilienceError } from 'holdfast';
import { now } from 'holdfast/binding';
import { partialIn } from 'holdfast/nest';
import { tap, type Observable } from 'rxjs';
import { CLIENT_CLOSED_REQUEST, statusOf } from '../transports/client-answer.js';
import { ResponseState } from '../transports/http-response.js';

interface HttpRequest {
  readonly method?: string;
  readonly url?: string;
  readonly originalUrl?: string;
}

/**
 * Writes one line for each HTTP request that reaches a handler, with the logger `HTTP`:
 * `GET /product-pages/7 200 312ms degraded=[reviews]`. The status is that of the answer, whatever became of the
 * handler's value or error on its way out, and the time ends with the answer; 499 stands for a client that has left
 * before. The URL is written as it came, with its query.
 *
 * Nothing has to be injected: `app.useGlobalInterceptors(new RequestLogInterceptor())`.
 */
@Injectable()
export class RequestLogInterceptor implements NestInterceptor {
  private readonly logger = new Logger('HTTP');

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();

    const { method, url, originalUrl = url } = context.getArgByIndex<HttpRequest | undefined>(0) ?? {};
    const response = new ResponseState(context.getArgByIndex(1), undefined);
    const startedAt = now();
    let degraded: readonly string[] = [];
    const log = (status: number): void => {
      this.logger.log(`${method} ${originalUrl} ${status} ${tookMs(startedAt)}ms degraded=[${degraded.join(',')}]`);
    };
    const note = (value: unknown): void => void (degraded = degradedNames(value));
    if (!response.canBeFollowed) return logged(next.handle(), { note, log, response });

    response.onOver((complete) => {
      log(complete || response.headersSent() ? response.statusCode : CLIENT_CLOSED_REQUEST);
    });
    return next.handle().pipe(tap(note));
  }
}

interface LogOfStream {
  readonly note: (value: unknown) => void;
  readonly log: (status: number) => void;
  readonly response: ResponseState;
}

/** Of a response that does not tell when it is over is only known what the handler has made. */
function logged(answer: Observable<unknown>, { note, log, response }: LogOfStream): Observable<unknown> {
  return answer.pipe(
    tap({ next: note, complete: () => log(response.statusCode), error: (error) => log(statusOfThrown(error)) }),
  );
}

/** What it will be answered with, also when it is translated further out only. */
function statusOfThrown(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();

  return error instanceof ResilienceError ? statusOf(error) : 500;
}

/** Those of a partial response, or what a body of that shape says by itself. */
function degradedNames(answer: unknown): readonly string[] {
  const page = partialIn(answer);
  if (page !== undefined) return page.degraded.map(({ section }) => section);
  if (typeof answer !== 'object' || answer === null) return [];
  try {
    const { degraded } = answer as { readonly degraded?: unknown };
    return Array.isArray(degraded) ? degraded.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

function tookMs(startedAt: number): number {
  return Math.round(now() - startedAt);
}
