import { Dispatcher, interceptors } from 'undici';
import { NotOffered, type Adapter, type Policy, type RetrySpec, type Work } from '../adapter.js';
import { installedVersion } from './installed.js';

/** The connection of one attempt, as far as a handler sees it. */
class Connection implements Dispatcher.DispatchController {
  readonly controller = new AbortController();
  readonly rawHeaders = null;
  readonly rawTrailers = null;
  paused = false;

  constructor(private readonly handler: Dispatcher.DispatchHandler) {}

  get aborted(): boolean {
    return this.controller.signal.aborted;
  }

  get reason(): Error | null {
    return this.aborted ? (this.controller.signal.reason as Error) : null;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  abort(reason: Error): void {
    if (this.aborted) return;

    this.controller.abort(reason);
    this.handler.onResponseError?.(this, reason);
  }
}

/** A server without a network: each request runs the work once. */
class Server<T> extends Dispatcher {
  value: T | undefined;

  constructor(private readonly work: Work<T>) {
    super();
  }

  override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const connection = new Connection(handler);
    handler.onRequestStart?.(connection, {});
    if (!connection.aborted) void this.answer(connection, handler).catch((error: Error) => connection.abort(error));
    return true;
  }

  private async answer(connection: Connection, handler: Dispatcher.DispatchHandler): Promise<void> {
    const response = this.begun(connection.controller.signal);
    try {
      this.value = await response;
    } catch (error) {
      if (!(error instanceof Error)) throw new NotOffered('its failures are those of connections: always errors');
      if (!connection.aborted) handler.onResponseError?.(connection, error);
      return;
    }
    if (connection.aborted) return;

    handler.onResponseStart?.(connection, 200, {}, 'OK');
    handler.onResponseEnd?.(connection, {});
  }

  private begun(signal: AbortSignal): Promise<T> | T {
    try {
      return this.work({ signal });
    } catch {
      throw new NotOffered('its work is a request, which fails later than it begins');
    }
  }
}

class RetryInterceptor implements Policy {
  private readonly interceptor;

  constructor({ attempts, backoff, retryIf, retryResultIf, honourRetryAfter = false }: RetrySpec) {
    // Its own `retry` function would stand in for its waits as well.
    if (retryIf !== undefined) throw new NotOffered('it retries by codes of errors and statuses');
    if (retryResultIf !== undefined) throw new NotOffered('it retries no results');
    if (backoff.jitter) throw new NotOffered('its waits have no jitter');

    this.interceptor = interceptors.retry({
      maxRetries: attempts - 1,
      minTimeout: backoff.delayMs,
      maxTimeout: backoff.maxDelayMs,
      timeoutFactor: backoff.factor,
      retryAfter: honourRetryAfter,
    });
  }

  async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    const server = new Server(work);
    const { body } = await (server
      .compose(this.interceptor)
      // A method that it retries by default.
      .request({
        origin: 'http://dependency.invalid',
        path: '/',
        method: 'GET',
        signal: signal ?? null,
      }) as Promise<Dispatcher.ResponseData>);
    await body.dump();
    return server.value as T;
  }
}

export const undici: Adapter = {
  name: 'undici (retry interceptor)',
  version: installedVersion('undici'),
  settings: {
    retry: 'interceptors.retry: maxRetries, minTimeout, maxTimeout, timeoutFactor, retryAfter; request with signal',
  },
  signals: true,
  retry: (spec) => new RetryInterceptor(spec),
};
