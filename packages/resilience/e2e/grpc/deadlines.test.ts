import { Controller, Injectable, UseGuards, type CanActivate } from '@nestjs/common';
import { GrpcMethod } from '@nestjs/microservices';
import {
  Budget,
  CircuitBreaker,
  deadlineHeader,
  DeadlineExceededError,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { concat, NEVER, of } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, isPending, turns } from '../fixtures/backend.js';
import { handlersOf, KINDS } from '../fixtures/grpc-calls.js';
import { closeGrpcAfterEach, startGrpc, type GrpcApplication } from '../fixtures/grpc.js';

closeGrpcAfterEach();

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

const breaker = CircuitBreaker({ name: 'carrier', minimumCalls: 1 });
const typesOf = ({ events }: GrpcApplication) => events.map(({ type }) => type);

describe.each(KINDS)('the deadline that a gRPC client sets (%s)', (_, method, passedThrough) => {
  const start = (options: ResilienceModuleOptions, ...decorators: MethodDecorator[]) =>
    startGrpc({ controllers: [handlersOf(backend.call, passedThrough, ...decorators)], options });

  it.each(['safe', 'always', 'never'] as const)(
    'ends its call, is not taken for a client that left (abortOnDisconnect: %s), and no breaker counts it',
    async (abortOnDisconnect) => {
      const app = await start({ abortOnDisconnect }, Timeout('10s'), breaker, Retry({ attempts: 3 }));
      freezeTime();
      const { answer } = app.open(method, { deadlineMs: 200 });
      const { signal } = await backend.reached(1);
      await vi.advanceTimersByTimeAsync(199);
      expect(await isPending(answer)).toBe(true);
      await vi.advanceTimersByTimeAsync(1);

      expect((await answer).code).toBe(4);
      await turns();
      expect(typesOf(app)).toEqual(['deadline']);
      expect(app.events[0]).toMatchObject({ budgetMs: 200 });
      if (!passedThrough) expect(signal?.reason).toBeInstanceOf(DeadlineExceededError);
      expect(app.resilience.circuitBreaker('carrier').state).toBe('closed');
      expect(app.log.errors).toEqual([]);
    },
  );

  it('does not lengthen a limit of the handler', async () => {
    const app = await start({}, Budget(100));
    freezeTime();
    const { answer } = app.open(method, { deadlineMs: 86_400_000 });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toMatchObject({ code: 4, payload: { code: 'DEADLINE_EXCEEDED' } });
    expect(app.events).toMatchObject([{ type: 'deadline', budgetMs: 100 }]);
  });

  it('that leaves less than minRemaining is answered with DEADLINE_EXCEEDED, and the handler does not run', async () => {
    const app = await start({ minRemaining: '1s' }, Timeout('10s'));

    expect(await app.call(method, { deadlineMs: 900 })).toMatchObject({
      code: 4,
      details: 'The operation timed out',
      payload: { status: 'error', code: 'DEADLINE_EXCEEDED', statusCode: 504, message: 'The operation timed out' },
    });
    expect(typesOf(app)).toEqual(['deadline']);
    expect(backend.calls).toEqual([]);
  });

  it('is no limit where there is none', async () => {
    const app = await start({ minRemaining: '1s' }, Timeout('1m'));
    backend.script((call) => call.answer('quotes'));

    expect(await app.call(method)).toMatchObject({ values: ['quotes'], code: 0 });
  });
});

describe('what stands in the metadata', () => {
  const HEADER = 'x-request-timeout-ms';
  const start = (deadlineHeaders: string[]) =>
    startGrpc({
      controllers: [handlersOf(backend.call, false, Timeout('10s'))],
      options: { deadlineHeaders },
    });

  it('bounds a call too, where the application names it', async () => {
    const app = await start([HEADER]);
    freezeTime();
    const { answer } = app.open('unary', { metadata: { [HEADER]: '100' } });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toMatchObject({ code: 4, payload: { code: 'DEADLINE_EXCEEDED' } });
  });

  it.each([
    ['is ignored where it does not', [], '100'],
    ['is ignored when it comes twice', [HEADER], ['100', '100']],
    ['is ignored when it is not in its form', [HEADER], '1e2'],
    ['is ignored when it would switch limits off', [HEADER], '0'],
  ])('%s', async (_, names, value) => {
    const app = await start(names);
    freezeTime();
    const { answer } = app.open('unary', { metadata: { [HEADER]: value } });
    const call = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await isPending(answer)).toBe(true);
    call.answer('quotes');

    expect(await answer).toMatchObject({ values: ['quotes'], code: 0 });
  });

  it('and the deadline of the protocol: the shorter one counts', async () => {
    const app = await start([HEADER]);
    freezeTime();
    const { answer } = app.open('unary', { metadata: { [HEADER]: '100' }, deadlineMs: 5_000 });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toMatchObject({ code: 4, payload: { code: 'DEADLINE_EXCEEDED' } });
  });
});

describe('a deadline of gRPC', () => {
  it('that has passed while the call waited before its handler keeps it from running', async () => {
    let pass = (): void => {};

    @Injectable()
    class Slow implements CanActivate {
      canActivate(): Promise<boolean> {
        return new Promise((resolve) => (pass = () => resolve(true)));
      }
    }

    const slow = UseGuards(Slow) as MethodDecorator;
    const app = await startGrpc({ controllers: [handlersOf(backend.call, false, Timeout('10s'), slow)] });
    freezeTime();
    for (const method of ['unary', 'clientStream'] as const) {
      const { answer } = app.open(method, { deadlineMs: 200 });
      await turns();
      await vi.advanceTimersByTimeAsync(200);
      expect((await answer).code).toBe(4);
      pass();
      await turns();
    }

    expect(backend.calls).toEqual([]);
    expect(typesOf(app)).toEqual(['deadline', 'deadline']);
  });

  it('bounds the policies inside, and what they send on', async () => {
    const outgoing: unknown[] = [];

    @Controller()
    class Quotes {
      private readonly policy = this.resilience.create(
        { timeout: '10s', circuitBreaker: { name: 'inner', minimumCalls: 1 } },
        'carrier',
      );

      constructor(private readonly resilience: ResilienceService) {}

      @GrpcMethod('Calls', 'Unary')
      @Timeout('5s')
      unary() {
        return this.policy.execute(({ signal }) => {
          outgoing.push(deadlineHeader('grpc-timeout'));
          return backend.call(signal);
        });
      }
    }
    const app = await startGrpc({ controllers: [Quotes] });
    freezeTime();
    const { answer } = app.open('unary', { deadlineMs: 200 });
    const { signal } = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(200);

    expect((await answer).code).toBe(4);
    expect(outgoing).toEqual(['200m']);
    expect(signal?.reason).toBeInstanceOf(DeadlineExceededError);
    expect(app.resilience.circuitBreaker('inner').state).toBe('closed');
  });

  it('that passes while values leave ends the stream, and what feeds it hears of the deadline', async () => {
    let signal: AbortSignal | undefined;

    @Controller()
    class Positions {
      @GrpcMethod('Calls', 'ServerStream')
      @Timeout('5s')
      @breaker
      serverStream(@Signal() given: AbortSignal) {
        signal = given;
        return concat(of({ text: 'Hamburg' }), NEVER);
      }
    }
    const app = await startGrpc({ controllers: [Positions] });
    freezeTime();
    const { answer } = app.open('serverStream', { deadlineMs: 200 });
    await turns();
    await vi.advanceTimersByTimeAsync(200);

    expect(await answer).toMatchObject({ values: ['Hamburg'], code: 4 });
    await turns();
    expect(signal?.reason).toBeInstanceOf(DeadlineExceededError);
    expect(app.events).toMatchObject([{ type: 'deadline', budgetMs: 200 }]);
    expect(app.resilience.circuitBreaker('carrier').state).toBe('closed');
  });
});
