import '../install.js';
import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { HttpException } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import {
  BulkheadPolicy,
  CircuitOpenError,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from 'holdfast';
import { lastValueFrom, of, Subject, throwError, toArray, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventSource } from 'holdfast/binding';
import type { PolicyRegistry } from '../registry.js';
import { readSettings } from '../settings.js';
import { Transports } from '../transports/transports.js';
import type { Plan, Planner } from './plan.js';
import { ResilienceInterceptor } from './resilience.interceptor.js';

const down = new Error('down');

class QuotesController {
  getQuotes(): void {}
}

function planOf(withRetry: ResiliencePolicy, changes: Partial<Plan> = {}): Plan {
  const source = 'QuotesController.getQuotes';

  return {
    source,
    withRetry,
    withoutRetry: ResiliencePolicy.wrap(),
    retry: 'safe',
    budgetMs: undefined,
    events: new EventSource(),
    streamsEvents: false,
    signalsAt: [],
    ...changes,
  };
}

interface Response {
  headersSent: boolean;
  readonly headers: Record<string, string>;
  getHeader(name: string): unknown;
}

function contextOf(
  kind: string,
  { method = 'GET', response }: { method?: string; response?: Response } = {},
): ExecutionContext {
  const values = [{ method }, response, () => {}];

  return {
    getType: () => kind,
    getClass: () => QuotesController,
    getHandler: () => QuotesController.prototype.getQuotes,
    getArgs: () => values,
    getArgByIndex: (index: number) => values[index],
    switchToHttp: () => ({ getResponse: () => response }),
  } as unknown as ExecutionContext;
}

/** An interceptor in an application whose HTTP adapter, if it has one, writes headers into the response. */
function interceptorFor(plan: Plan | null, { mapErrors = true, adapter = true } = {}): ResilienceInterceptor {
  const httpAdapter = adapter
    ? {
        setHeader: (response: Response, name: string, value: string) => (response.headers[name] = value),
        isHeadersSent: (response: Response) => response.headersSent,
      }
    : undefined;
  const planner = { planFor: () => plan } as unknown as Planner;

  const registry = { settings: readSettings({ mapErrors }) } as PolicyRegistry;

  return new ResilienceInterceptor(planner, new Transports({ httpAdapter } as HttpAdapterHost, registry), registry);
}

const handlerOf = (handle: () => Observable<unknown>): CallHandler => ({ handle });
const newResponse = (): Response => ({ headersSent: false, headers: {}, getHeader: () => undefined });

function errorOf(stream: Observable<unknown>): Promise<unknown> {
  return lastValueFrom(stream).then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
}

describe('ResilienceInterceptor', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  describe('without a plan', () => {
    it('and with mapErrors: false hands the stream of the handler on as it is, but over HTTP', () => {
      const stream = of(1);

      const result = interceptorFor(null, { mapErrors: false }).intercept(
        contextOf('rpc'),
        handlerOf(() => stream),
      );

      expect(result).toBe(stream);
    });

    it('and with mapErrors: false passes errors of policies on too', async () => {
      const error = new CircuitOpenError('carrier', 5_000);
      const failing = interceptorFor(null, { mapErrors: false }).intercept(
        contextOf('http', { response: newResponse() }),
        handlerOf(() => throwError(() => error)),
      );

      expect(await errorOf(failing)).toBe(error);
    });

    it.each([true, false])('passes values on and other errors untouched (mapErrors: %s)', async (mapErrors) => {
      const interceptor = interceptorFor(null, { mapErrors });

      const values = interceptor.intercept(
        contextOf('http'),
        handlerOf(() => of(1, 2)),
      );
      await expect(lastValueFrom(values.pipe(toArray()))).resolves.toEqual([1, 2]);
      const failing = interceptor.intercept(
        contextOf('http'),
        handlerOf(() => throwError(() => down)),
      );
      expect(await errorOf(failing)).toBe(down);
    });

    it('translates errors of policies', async () => {
      const response = newResponse();
      const error = new CircuitOpenError('carrier', 1_001);

      const mapped = await errorOf(
        interceptorFor(null).intercept(
          contextOf('http', { response }),
          handlerOf(() => throwError(() => error)),
        ),
      );

      expect(mapped).toBeInstanceOf(HttpException);
      expect((mapped as HttpException).cause).toBe(error);
      expect(response.headers).toEqual({ 'Retry-After': '2' });
    });

    it('sets no header when they have left already', async () => {
      const response = { ...newResponse(), headersSent: true };

      await errorOf(
        interceptorFor(null).intercept(
          contextOf('http', { response }),
          handlerOf(() => throwError(() => new CircuitOpenError('carrier', 1_001))),
        ),
      );

      expect(response.headers).toEqual({});
    });

    it('sets no header in an application without an HTTP adapter', async () => {
      const response = newResponse();

      const mapped = await errorOf(
        interceptorFor(null, { adapter: false }).intercept(
          contextOf('http', { response }),
          handlerOf(() => throwError(() => new CircuitOpenError('carrier', 1_001))),
        ),
      );

      expect((mapped as HttpException).getStatus()).toBe(503);
      expect(response.headers).toEqual({});
    });

    it('unsubscribes from the handler with its subscriber', () => {
      const source = new Subject();
      const subscription = interceptorFor(null)
        .intercept(
          contextOf('http'),
          handlerOf(() => source),
        )
        .subscribe();

      subscription.unsubscribe();

      expect(source.observed).toBe(false);
    });
  });

  describe('with a plan', () => {
    it.each([
      ['GET', 3],
      ['get', 3],
      ['Head', 3],
      ['OPTIONS', 3],
      ['POST', 1],
      ['QUERY', 1],
    ])('chooses the pipeline by the method of the request: %s makes %i attempts', async (method, attempts) => {
      const handle = vi.fn(() => throwError(() => down));
      const plan = planOf(new RetryPolicy({ attempts: 3, backoff: { delay: 10, jitter: 'none', factor: 1 } }));
      const response = newResponse();

      const outcome = errorOf(
        interceptorFor(plan).intercept(contextOf('http', { method, response }), handlerOf(handle)),
      );
      await vi.advanceTimersByTimeAsync(20);

      expect(await outcome).toBe(down);
      expect(handle).toHaveBeenCalledTimes(attempts);
    });

    it('runs nothing before it is subscribed to, and anew for each subscriber', async () => {
      const handle = vi.fn(() => of('fine'));
      const stream = interceptorFor(planOf(new BulkheadPolicy())).intercept(
        contextOf('http', { response: newResponse() }),
        handlerOf(handle),
      );
      expect(handle).not.toHaveBeenCalled();

      await lastValueFrom(stream);
      await lastValueFrom(stream);

      expect(handle).toHaveBeenCalledTimes(2);
    });

    it('holds values back until completion where the transport answers once', () => {
      const source = new Subject<number>();
      for (const [kind, heldBack] of [
        ['http', true],
        ['graphql', true],
        ['rpc', false],
        ['ws', false],
      ] as const) {
        const heard: unknown[] = [];
        interceptorFor(planOf(ResiliencePolicy.wrap()))
          .intercept(
            contextOf(kind, { response: newResponse() }),
            handlerOf(() => source),
          )
          .subscribe((value) => heard.push(value));
        source.next(1);
        expect([kind, heard]).toEqual([kind, heldBack ? [] : [1]]);
      }
      source.complete();
    });

    it('passes server-sent events on as they come, although the head has left', () => {
      const source = new Subject<string>();
      const response = { ...newResponse(), headersSent: true };
      const heard: unknown[] = [];
      const plan = planOf(ResiliencePolicy.wrap(), { streamsEvents: true });
      interceptorFor(plan)
        .intercept(
          contextOf('http', { response }),
          handlerOf(() => source),
        )
        .subscribe((value) => heard.push(value));

      source.next('first');

      expect(heard).toEqual(['first']);
      source.complete();
    });

    it('limits server-sent events until the first one, although the head has left', async () => {
      const response = { ...newResponse(), headersSent: true };
      const plan = planOf(new TimeoutPolicy(100), { streamsEvents: true });
      const outcome = errorOf(
        interceptorFor(plan).intercept(
          contextOf('http', { response }),
          handlerOf(() => new Subject()),
        ),
      );

      await vi.advanceTimersByTimeAsync(100);

      expect(((await outcome) as HttpException).getStatus()).toBe(504);
    });

    it('leaves its errors as they are with mapErrors: false', async () => {
      const plan = planOf(new TimeoutPolicy({ name: 'quotes', timeout: 100 }));
      const outcome = errorOf(
        interceptorFor(plan, { mapErrors: false }).intercept(
          contextOf('http', { response: newResponse() }),
          handlerOf(() => new Subject()),
        ),
      );

      await vi.advanceTimersByTimeAsync(100);

      expect(await outcome).toEqual(new ResilienceTimeoutError(100, 'quotes'));
    });

    it('labels its events with the handler', async () => {
      const policy = new RetryPolicy({ name: 'own', attempts: 2, backoff: { delay: 0 } });
      const sources: unknown[] = [];
      policy.subscribe((event) => sources.push('source' in event && event.source));
      const outcome = errorOf(
        interceptorFor(planOf(policy)).intercept(
          contextOf('http', { response: newResponse() }),
          handlerOf(() => throwError(() => down)),
        ),
      );

      await vi.advanceTimersByTimeAsync(1);
      await outcome;

      expect(sources).toEqual(['QuotesController.getQuotes']);
    });
  });

  it('passes a failure to plan on as the failure of the request', () => {
    const planner = {
      planFor: () => {
        throw new Error('Unknown preset "carier".');
      },
    } as unknown as Planner;
    const interceptor = new ResilienceInterceptor(planner, {} as never, { settings: readSettings({}) } as never);

    expect(() =>
      interceptor.intercept(
        contextOf('http'),
        handlerOf(() => of(1)),
      ),
    ).toThrow('Unknown preset');
  });
});
