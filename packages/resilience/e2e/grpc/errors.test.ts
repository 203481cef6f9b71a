import { Catch, Controller, UseFilters, type ArgumentsHost, type RpcExceptionFilter } from '@nestjs/common';
import { GrpcExceptionFilter, GrpcStreamMethod, RpcException } from '@nestjs/microservices';
import {
  Budget,
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  fanOut,
  OutboundRateLimitError,
  required,
  Resilience,
  ResilienceTimeoutError,
  Timeout,
} from '@nestjs/resilience';
import { Subject, throwError, type Observable } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, turns } from '../fixtures/backend.js';
import { handlersOf, KINDS } from '../fixtures/grpc-calls.js';
import { closeGrpcAfterEach, startGrpc, type Text } from '../fixtures/grpc.js';

closeGrpcAfterEach();

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

const TIMED_OUT = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };

describe.each(KINDS)('a gRPC handler (%s)', (_, method, passedThrough) => {
  const start = (...decorators: MethodDecorator[]) =>
    startGrpc({ controllers: [handlersOf(backend.call, passedThrough, ...decorators)] });

  it('answers as without any policy while all is well', async () => {
    const app = await start(Timeout('1s'), CircuitBreaker(), Bulkhead({ maxConcurrent: 1 }));
    backend.script((call) => call.answer('quotes'));

    expect(await app.call(method)).toEqual({ values: ['quotes'], code: 0, details: '', payload: undefined });
    expect(await app.call(method)).toMatchObject({ values: ['quotes'], code: 0 });
    expect(app.log.errors).toEqual([]);
  });

  it('that times out is DEADLINE_EXCEEDED to its caller, who finds the payload of all transports in the trailers', async () => {
    const app = await start(Timeout(100));
    freezeTime();
    const { answer } = app.open(method);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toEqual({ values: [], code: 4, details: 'The operation timed out', payload: TIMED_OUT });
    expect(app.log.errors).toEqual([]);
  });

  it('over its budget is DEADLINE_EXCEEDED', async () => {
    const app = await start(Budget(100));
    freezeTime();
    const { answer } = app.open(method);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toMatchObject({ code: 4, payload: { ...TIMED_OUT, code: 'DEADLINE_EXCEEDED' } });
  });

  it('behind an open breaker is UNAVAILABLE, with the seconds until it may close', async () => {
    const app = await start(CircuitBreaker({ name: 'carrier', minimumCalls: 1, openDuration: '30s' }), Timeout('1s'));
    app.resilience.circuitBreaker('carrier').trip();

    expect(await app.call(method)).toEqual({
      values: [],
      code: 14,
      details: 'Service temporarily unavailable',
      payload: {
        status: 'error',
        code: 'CIRCUIT_OPEN',
        statusCode: 503,
        message: 'Service temporarily unavailable',
        retryAfter: 30,
      },
    });
    expect(backend.calls).toEqual([]);
  });

  it('whose bulkhead is full is RESOURCE_EXHAUSTED', async () => {
    const app = await start(Bulkhead({ maxConcurrent: 1 }));
    const first = app.open(method);
    const running = await backend.reached(1);
    const second = await app.call(method);
    running.answer('quotes');

    expect(second).toMatchObject({
      code: 8,
      details: 'Server is at capacity',
      payload: { status: 'error', code: 'BULKHEAD_FULL', statusCode: 503, message: 'Server is at capacity' },
    });
    expect(await first.answer).toMatchObject({ values: ['quotes'], code: 0 });
  });

  it('above the rate of its dependency is RESOURCE_EXHAUSTED, with the seconds until the next token', async () => {
    const app = await startGrpc({
      controllers: [handlersOf(backend.call, passedThrough, Resilience('carrier'))],
      options: { presets: { carrier: { outboundRateLimit: { limit: 1, interval: '10s' } } } },
    });
    backend.script((call) => call.answer('quotes'));
    await app.call(method);

    expect(await app.call(method)).toMatchObject({
      code: 8,
      details: 'Rate limit of a dependency exceeded',
      payload: { code: 'RATE_LIMITED', statusCode: 503, retryAfter: 10 },
    });
  });
});

describe('an error of a gRPC call', () => {
  const unary = (job: () => unknown, ...decorators: MethodDecorator[]) =>
    handlersOf(async () => job(), false, ...decorators);
  const fail = (error: unknown) => () => {
    throw error;
  };

  it('of ours is mapped where it comes out of a service behind a handler without decorators', async () => {
    const error = new CircuitOpenError('carrier', 1_500);
    const app = await startGrpc({ controllers: [unary(fail(error))] });

    expect(await app.call('unary')).toMatchObject({ code: 14, payload: { code: 'CIRCUIT_OPEN', retryAfter: 2 } });
    expect(await app.call('serverStream')).toMatchObject({ code: 14, payload: { code: 'CIRCUIT_OPEN' } });
  });

  it('of a required section is UNAVAILABLE, and NOT_FOUND where its dependency says that there is no such thing', async () => {
    const page = (status: number) => () =>
      fanOut({ product: required(fail(new DependencyError(status)), { name: 'catalog', timeout: '1s' }) });
    const broken = await startGrpc({ controllers: [unary(page(500))] });
    const missing = await startGrpc({ controllers: [unary(page(404))] });
    const gone = await startGrpc({ controllers: [unary(page(410))] });

    expect(await broken.call('unary')).toMatchObject({
      code: 14,
      details: 'catalog unavailable',
      payload: { status: 'error', code: 'SECTION_FAILED', statusCode: 502, message: 'catalog unavailable' },
    });
    expect(await missing.call('unary')).toMatchObject({ code: 5, payload: { statusCode: 404 } });
    expect(await gone.call('unary')).toMatchObject({ code: 5, payload: { statusCode: 410 } });
  });

  it('that is nobody of ours is sent as Nest sends it', async () => {
    const own = new RpcException({ code: 9, message: 'not now' });
    const app = await startGrpc({ controllers: [unary(fail(own), Timeout('1s'), CircuitBreaker())] });
    const foreign = await startGrpc({ controllers: [unary(fail(down), Timeout('1s'))] });

    expect(await app.call('unary')).toEqual({ values: [], code: 9, details: 'not now', payload: undefined });
    expect(await foreign.call('unary')).toMatchObject({ code: 2, details: 'Internal server error' });
    expect(foreign.log.errors).toEqual(['Error: down']);
  });

  it('goes to filters as an RpcException, whose cause is the error of the policy', async () => {
    const seen: unknown[] = [];

    @Catch(RpcException)
    class Witness implements RpcExceptionFilter {
      catch(exception: RpcException, _host: ArgumentsHost) {
        seen.push(exception.getError(), exception.cause);
        return throwError(() => exception.getError());
      }
    }

    const filtered = UseFilters(Witness) as MethodDecorator;
    const error = new OutboundRateLimitError('carrier', 500);
    const app = await startGrpc({ controllers: [unary(fail(error), filtered)] });

    expect(await app.call('unary')).toMatchObject({ code: 8, payload: { code: 'RATE_LIMITED', retryAfter: 1 } });
    expect(seen).toMatchObject([{ code: 8, message: 'Rate limit of a dependency exceeded' }, {}]);
    expect(seen[1]).toBe(error);
  });

  it('keeps its status and its trailers behind the GrpcExceptionFilter of Nest', async () => {
    const filtered = UseFilters(GrpcExceptionFilter) as MethodDecorator;
    const app = await startGrpc({ controllers: [unary(fail(new ResilienceTimeoutError(5, 'carrier')), filtered)] });

    for (const method of ['unary', 'serverStream', 'clientStream', 'bidi'] as const) {
      expect(await app.call(method)).toEqual({ values: [], code: 4, details: TIMED_OUT.message, payload: TIMED_OUT });
    }
  });

  it('is left to the application with mapErrors: false', async () => {
    const error = new ResilienceTimeoutError(5, 'carrier');
    const app = await startGrpc({ controllers: [unary(fail(error), CircuitBreaker())], options: { mapErrors: false } });

    expect(await app.call('unary')).toMatchObject({ code: 2, details: 'Internal server error', payload: undefined });
    expect(app.log.errors).toEqual([String(error)]);
  });

  it.each(['clientStream', 'bidi'] as const)(
    'ends a call that is passed through all the same, since nobody else would: %s',
    async (method) => {
      const app = await startGrpc({
        controllers: [handlersOf(backend.call, true, Timeout('20ms'))],
        options: { mapErrors: false },
      });

      expect(await app.call(method)).toMatchObject({ code: 4, payload: TIMED_OUT });
      expect(backend.calls).toHaveLength(1);
    },
  );

  it('has trailers that any text fits in', async () => {
    class OddError extends CircuitOpenError {
      override readonly code = 'ÄRGER\n💥' as never;
    }
    const app = await startGrpc({ controllers: [unary(fail(new OddError('carrier', 1)))] });

    expect(await app.call('unary')).toMatchObject({ code: 14, payload: { code: 'ÄRGER\n💥' } });
  });

  it('is replaced by a fallback, which is the answer', async () => {
    const fallback = Fallback(() => ({ text: 'flat rate' }));
    const app = await startGrpc({ controllers: [unary(fail(down), fallback)] });

    for (const method of ['unary', 'serverStream', 'clientStream', 'bidi'] as const) {
      expect(await app.call(method)).toMatchObject({ values: ['flat rate'], code: 0 });
    }
  });
});

describe('with streams both ways', () => {
  it('an error completes the request stream of a handler that does not listen for errors of its client', async () => {
    const ended: string[] = [];
    @Controller()
    class Chat {
      @Timeout(50)
      @GrpcStreamMethod('Calls', 'Bidi')
      bidi(messages: Observable<Text>) {
        const answers = new Subject<Text>();
        messages.subscribe({ next: ({ text }) => ended.push(text), complete: () => ended.push('complete') });
        return answers.asObservable();
      }
    }
    const app = await startGrpc({ controllers: [Chat] });

    expect(await app.call('bidi', { ends: false })).toMatchObject({ code: 4, payload: TIMED_OUT });
    await turns();
    expect(ended).toEqual(['hello', 'complete']);
  });
});
