import type { EventEmitter } from 'node:events';
import {
  Catch,
  Controller,
  Injectable,
  UseFilters,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { GrpcMethod, RpcException } from '@nestjs/microservices';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  DeadlineExceededError,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { concat, finalize, NEVER, of, throwError } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, turns, until } from '../fixtures/backend.js';
import { handlersOf, KINDS } from '../fixtures/grpc-calls.js';
import { closeGrpcAfterEach, startGrpc, type GrpcApplication } from '../fixtures/grpc.js';

closeGrpcAfterEach();

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

const ALWAYS: ResilienceModuleOptions = { abortOnDisconnect: 'always' };
const retry = Retry({ attempts: 3, backoff: { delay: 10 } });
const guarded = [
  Timeout('1m'),
  CircuitBreaker({ name: 'carrier', minimumCalls: 1 }),
  Bulkhead({ name: 'carrier', maxConcurrent: 1 }),
];
const typesOf = ({ events }: GrpcApplication) => events.map(({ type }) => type);

/** As if nobody had called: nothing counted, nothing held, nothing written to the log. */
function expectNoTrace({ log, resilience }: GrpcApplication): void {
  expect(resilience.circuitBreaker('carrier').stats.total).toBe(0);
  expect(resilience.bulkhead('carrier')).toMatchObject({ active: 0, queued: 0 });
  expect(log.lines).toEqual([]);
  expect(log.errors).toEqual([]);
}

describe.each(KINDS.filter(([, , passedThrough]) => !passedThrough))('a client that cancels (%s)', (_, method) => {
  const start = (options: ResilienceModuleOptions, ...decorators: MethodDecorator[]) =>
    startGrpc({ controllers: [handlersOf(backend.call, false, ...guarded, ...decorators)], options });

  it("aborts its attempt with a ClientDisconnectedError with abortOnDisconnect: 'always'", async () => {
    const app = await start(ALWAYS, retry);
    const call = app.open(method);
    const { signal } = await backend.reached(1);
    call.cancel();
    await until(() => signal?.aborted === true);

    expect(signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect((await call.answer).code).toBe(1);
    await turns();
    expect(typesOf(app)).toEqual(['client-gone']);
    expect(backend.states).toEqual(['cancelled']);
    expectNoTrace(app);
  });

  it('long before its deadline has left, and at its deadline has not', async () => {
    const app = await start(ALWAYS);
    freezeTime();
    const early = app.open(method, { deadlineMs: 1_000 });
    const first = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(900);
    early.cancel();
    await until(() => first.signal?.aborted === true);
    const late = app.open(method, { deadlineMs: 1_000 });
    const second = await backend.reached(2);
    await vi.advanceTimersByTimeAsync(951);
    late.cancel();
    await turns();
    await vi.advanceTimersByTimeAsync(49);

    expect(first.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(second.signal?.reason).toBeInstanceOf(DeadlineExceededError);
    expect(typesOf(app)).toEqual(['client-gone', 'deadline']);
    expect(app.events[1]).toMatchObject({ budgetMs: 1_000 });
    expectNoTrace(app);
  });

  it('whose deadline is short has not left in the second half of it', async () => {
    const app = await start(ALWAYS);
    freezeTime();
    for (const [nth, afterMs] of [
      [1, 29],
      [2, 31],
    ] as const) {
      const call = app.open(method, { deadlineMs: 60 });
      await backend.reached(nth);
      await vi.advanceTimersByTimeAsync(afterMs);
      call.cancel();
      await turns();
      await vi.advanceTimersByTimeAsync(60 - afterMs);
    }

    expect(typesOf(app)).toEqual(['client-gone', 'deadline']);
  });

  it('is one call; the next one finds the slot free', async () => {
    const app = await start(ALWAYS);
    const call = app.open(method);
    await backend.reached(1);
    call.cancel();
    await until(() => app.resilience.bulkhead('carrier').active === 0);
    const next = app.open(method);
    (await backend.reached(2)).answer('quotes');

    expect(await next.answer).toMatchObject({ values: ['quotes'], code: 0 });
  });
});

describe('a unary handler whose client cancels', () => {
  const start = (options: ResilienceModuleOptions, ...decorators: MethodDecorator[]) =>
    startGrpc({ controllers: [handlersOf(backend.call, false, ...guarded, ...decorators)], options });

  it.each([
    ['by default', {}, []],
    ['by default, with a retry that does not apply', {}, [Retry({ attempts: 1 })]],
    ["with abortOnDisconnect: 'never'", { abortOnDisconnect: 'never' }, [retry]],
  ] as const)('runs on, and is counted: %s', async (_, options, decorators) => {
    const app = await start(options, ...decorators);
    const call = app.open('unary');
    const running = await backend.reached(1);
    call.cancel();
    expect((await call.answer).code).toBe(1);
    await turns();
    expect(running.signal?.aborted).toBe(false);
    running.answer('quotes');
    await until(() => app.resilience.circuitBreaker('carrier').stats.total === 1);

    expect(app.resilience.bulkhead('carrier').active).toBe(0);
    expect(app.events).toEqual([]);
    expect(app.log.errors).toEqual([]);
  });

  it('is given up by default where it may be repeated', async () => {
    const app = await start({}, retry);
    const call = app.open('unary');
    const { signal } = await backend.reached(1);
    call.cancel();
    await until(() => signal?.aborted === true);

    expect(signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expectNoTrace(app);
  });

  it('is not repeated after the wait that the client left in', async () => {
    const app = await start({}, Retry({ attempts: 3, backoff: { delay: 50, jitter: 'none' } }));
    backend.script((running) => running.fail(new Error('down')));
    const call = app.open('unary');
    await until(() => typesOf(app).includes('retry'));
    call.cancel();
    await until(() => typesOf(app).includes('client-gone'));
    await new Promise((resolve) => setTimeout(resolve, 80));

    expect(backend.calls).toHaveLength(1);
  });

  it('does not begin where the client left before, with a guard at work', async () => {
    let pass = (): void => {};

    @Injectable()
    class Slow implements CanActivate {
      canActivate(): Promise<boolean> {
        return new Promise((resolve) => (pass = () => resolve(true)));
      }
    }

    const app = await start(ALWAYS, UseGuards(Slow) as MethodDecorator);
    const call = app.open('unary');
    await turns();
    call.cancel();
    await call.answer;
    await turns();
    pass();
    await turns();

    expect(backend.calls).toEqual([]);
    expect(typesOf(app)).toEqual(['client-gone']);
    expectNoTrace(app);
  });

  it('has its answer, which is not taken for a client that left, although the handler goes on', async () => {
    let signal: AbortSignal | undefined;
    const ended = vi.fn();

    @Controller()
    class Positions {
      @GrpcMethod('Calls', 'Unary')
      @Timeout('1m')
      unary(@Signal() given: AbortSignal) {
        signal = given;
        return concat(of({ text: 'first' }), NEVER).pipe(finalize(ended));
      }
    }
    const app = await startGrpc({ controllers: [Positions], options: ALWAYS });

    expect(await app.call('unary')).toMatchObject({ values: ['first'], code: 0 });
    await turns();
    expect(signal?.aborted).toBe(false);
    expect(ended).not.toHaveBeenCalled();
    expect(app.events).toEqual([]);
  });
});

describe('a stream whose client cancels', () => {
  it('is unsubscribed from once, and holds its slot until then', async () => {
    let signal: AbortSignal | undefined;
    const ended = vi.fn();

    @Controller()
    class Positions {
      @GrpcMethod('Calls', 'ServerStream')
      @Timeout('1m')
      @Bulkhead({ name: 'carrier', maxConcurrent: 1 })
      @CircuitBreaker({ name: 'carrier', minimumCalls: 1 })
      serverStream(@Signal() given: AbortSignal) {
        signal = given;
        return concat(of({ text: 'Hamburg' }), NEVER).pipe(finalize(ended));
      }
    }
    const app = await startGrpc({ controllers: [Positions] });
    const call = app.open('serverStream');
    await until(() => call.values.length === 1);
    expect(await app.call('serverStream')).toMatchObject({ code: 8 });
    call.cancel();
    await until(() => signal?.aborted === true);

    expect(signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(ended).toHaveBeenCalledTimes(1);
    expectNoTrace(app);
  });
});

describe('a call that is passed through to its handler', () => {
  it.each(['clientStream', 'bidi'] as const)(
    'leaves a cancellation to it: it has the call itself (%s)',
    async (method) => {
      const app = await startGrpc({ controllers: [handlersOf(backend.call, true, ...guarded)], options: ALWAYS });
      const call = app.open(method);
      const running = await backend.reached(1);
      call.cancel();
      await call.answer;
      await turns();
      expect(app.resilience.bulkhead('carrier').active).toBe(1);
      running.answer('quotes');
      await until(() => app.resilience.bulkhead('carrier').active === 0);

      expect(app.log.errors).toEqual([]);
      expect(app.events).toEqual([]);
    },
  );
});

describe('a filter', () => {
  it('finds the error of a client that left to be CANCELLED, and nobody receives what it makes of it', async () => {
    const seen: unknown[] = [];

    @Catch(RpcException)
    class Witness {
      catch(exception: RpcException) {
        seen.push(exception.getError(), exception.cause);
        return throwError(() => exception.getError());
      }
    }

    const decorators = [Timeout('1m'), UseFilters(Witness) as MethodDecorator];
    const app = await startGrpc({ controllers: [handlersOf(backend.call, false, ...decorators)], options: ALWAYS });
    const call = app.open('unary');
    await backend.reached(1);
    call.cancel();
    await until(() => seen.length > 0);

    expect(seen[0]).toMatchObject({ code: 1 });
    expect(seen[1]).toBeInstanceOf(ClientDisconnectedError);
    expect(await call.answer).toMatchObject({ code: 1, payload: undefined });
  });
});

describe('the call of a gRPC handler', () => {
  it.each(['unary', 'serverStream', 'clientStream', 'bidi'] as const)(
    'is listened to while it runs, and no longer (%s)',
    async (method) => {
      const seen: EventEmitter[] = [];
      const counts: number[] = [];

      @Injectable()
      class Witness implements CanActivate {
        canActivate(context: ExecutionContext): boolean {
          const call = context.getArgByIndex<EventEmitter>(2);
          seen.push(call);
          counts.push(call.listenerCount('cancelled'));
          return true;
        }
      }

      const decorators = [Timeout('1m'), UseGuards(Witness) as MethodDecorator];
      const app = await startGrpc({ controllers: [handlersOf(backend.call, false, ...decorators)], options: ALWAYS });
      const { answer } = app.open(method);
      const running = await backend.reached(1);
      await turns();
      expect(seen[0]?.listenerCount('cancelled')).toBeGreaterThan(counts[0] as number);
      running.answer('quotes');

      expect((await answer).code).toBe(0);
      expect(seen[0]?.listenerCount('cancelled')).toBe(counts[0]);
    },
  );
});

describe('a thousand cancelled calls', () => {
  it.each(['unary', 'serverStream', 'clientStream', 'bidi'] as const)(
    'leave no timer, no listener and no call behind (%s)',
    async (method) => {
      const app = await startGrpc({ controllers: [handlersOf(backend.call, false, ...LIGHT)], options: ALWAYS });
      const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
      await cancelled(app, method, 10);
      const before = timers();
      const signals = await cancelled(app, method, 1_000);

      expect(timers()).toBeLessThanOrEqual(before);
      expect(app.resilience.bulkhead('carrier').active).toBe(0);
      backend.calls.length = app.events.length = 0;
      await collected(signals);
    },
    30_000,
  );
});

const LIGHT = [Timeout('1m'), Bulkhead({ name: 'carrier', maxConcurrent: 2_000 })];

/** Weak references to the signals of calls that were cancelled while they ran. */
async function cancelled(
  app: GrpcApplication,
  method: 'unary' | 'serverStream' | 'clientStream' | 'bidi',
  count: number,
) {
  const known = backend.calls.length;
  const calls = Array.from({ length: count }, () => app.open(method, { deadlineMs: 60_000 }));
  await backend.reached(known + count);
  const signals = backend.calls.slice(known).map(({ signal }) => new WeakRef(signal as AbortSignal));
  for (const call of calls) call.cancel();
  await Promise.all(calls.map(({ answer }) => answer));
  await until(() => app.resilience.bulkhead('carrier').active === 0);

  return signals;
}

async function collected(signals: readonly WeakRef<object>[]): Promise<void> {
  for (let n = 0; n < 20 && signals.some((ref) => ref.deref() !== undefined); n++) {
    await turns();
    (globalThis as { gc?: () => void }).gc?.();
  }
  expect(signals.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(10);
}
