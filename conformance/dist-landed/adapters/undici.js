import { Dispatcher, interceptors } from 'undici';
import { NotOffered } from '../adapter.js';
import { installedVersion } from './installed.js';
/** The connection of one attempt, as far as a handler sees it. */
class Connection {
    constructor(handler) {
        this.handler = handler;
        this.controller = new AbortController();
        this.rawHeaders = null;
        this.rawTrailers = null;
        this.paused = false;
    }
    get aborted() {
        return this.controller.signal.aborted;
    }
    get reason() {
        return this.aborted ? this.controller.signal.reason : null;
    }
    pause() {
        this.paused = true;
    }
    resume() {
        this.paused = false;
    }
    abort(reason) {
        if (this.aborted)
            return;
        this.controller.abort(reason);
        this.handler.onResponseError?.(this, reason);
    }
}
/** A server without a network: each request runs the work once. */
class Server extends Dispatcher {
    constructor(work) {
        super();
        this.work = work;
    }
    dispatch(_options, handler) {
        const connection = new Connection(handler);
        handler.onRequestStart?.(connection, {});
        if (!connection.aborted)
            void this.answer(connection, handler).catch((error) => connection.abort(error));
        return true;
    }
    async answer(connection, handler) {
        try {
            this.value = await this.work({ signal: connection.controller.signal });
        }
        catch (error) {
            if (!(error instanceof Error))
                throw new NotOffered('its failures are those of connections: always errors');
            if (!connection.aborted)
                handler.onResponseError?.(connection, error);
            return;
        }
        if (connection.aborted)
            return;
        handler.onResponseStart?.(connection, 200, {}, 'OK');
        handler.onResponseEnd?.(connection, {});
    }
}
class RetryInterceptor {
    constructor({ attempts, backoff, retryIf, retryResultIf, honourRetryAfter = false }) {
        // Its own `retry` function would stand in for its waits as well.
        if (retryIf !== undefined)
            throw new NotOffered('it retries by codes of errors and statuses');
        if (retryResultIf !== undefined)
            throw new NotOffered('it retries no results');
        if (backoff.jitter)
            throw new NotOffered('its waits have no jitter');
        this.interceptor = interceptors.retry({
            maxRetries: attempts - 1,
            minTimeout: backoff.delayMs,
            maxTimeout: backoff.maxDelayMs,
            timeoutFactor: backoff.factor,
            retryAfter: honourRetryAfter,
        });
    }
    async run(work, signal) {
        const server = new Server(work);
        const { body } = await server
            .compose(this.interceptor)
            // A method that it retries by default.
            .request({
            origin: 'http://dependency.invalid',
            path: '/',
            method: 'GET',
            signal: signal ?? null,
        });
        await body.dump();
        return server.value;
    }
}
export const undici = {
    name: 'undici (retry interceptor)',
    version: installedVersion('undici'),
    settings: {
        retry: 'interceptors.retry: maxRetries, minTimeout, maxTimeout, timeoutFactor, retryAfter; request with signal',
    },
    retry: (spec) => new RetryInterceptor(spec),
};
//# sourceMappingURL=undici.js.map