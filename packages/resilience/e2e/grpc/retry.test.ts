import type { Type } from '@nestjs/common';
import {
  GrpcFailedPreconditionException,
  GrpcNotFoundException,
  GrpcUnavailableException,
  RpcException,
} from '@nestjs/microservices';
import { CircuitBreaker, Resilience, Retry, Timeout } from '@nestjs/resilience';
import { beforeEach, describe, expect, it } from 'vitest';
import { Backend } from '../fixtures/backend.js';
import { handlersOf, KINDS } from '../fixtures/grpc-calls.js';
import { closeGrpcAfterEach, METHODS, startGrpc } from '../fixtures/grpc.js';

closeGrpcAfterEach();

let backend: Backend;
const down = new Error('down');
const retry = Retry({ attempts: 3, backoff: { delay: 1 } });
const presets = { carrier: { retry: { attempts: 2, backoff: { delay: 1 } } } };

beforeEach(() => {
  backend = new Backend();
});

const failing = (error: unknown) => backend.script((call) => call.fail(error));

const rejecting = KINDS.filter(([, , passedThrough]) => !passedThrough);

describe.each(rejecting)('a gRPC handler (%s)', (_, method) => {
  const mayRepeat = method === 'unary' || method === 'serverStream';
  const repeated = mayRepeat ? 'repeated' : 'not repeated';

  const start = (...decorators: MethodDecorator[]) =>
    startGrpc({ controllers: [handlersOf(backend.call, false, ...decorators)], options: { presets } });

  it(`with a @Retry() of its own is ${repeated}`, async () => {
    failing(down);
    const app = await start(retry);

    expect(await app.call(method)).toMatchObject({ code: 2, details: 'Internal server error' });
    expect(backend.calls).toHaveLength(mayRepeat ? 3 : 1);
  });

  it(`declared idempotent is ${repeated}`, async () => {
    failing(down);
    const app = await start(Resilience('carrier'), Retry({ idempotent: true }));
    await app.call(method);

    expect(backend.calls).toHaveLength(mayRepeat ? 2 : 1);
  });

  it('is not repeated by its preset', async () => {
    failing(down);
    const app = await start(Resilience('carrier'));
    await app.call(method);

    expect(backend.calls).toHaveLength(1);
  });

  it(`answers with what the ${mayRepeat ? 'second' : 'only'} attempt has`, async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('quotes')));
    const app = await start(Timeout('1s'), retry);

    expect(await app.call(method)).toMatchObject(mayRepeat ? { values: ['quotes'], code: 0 } : { code: 2 });
  });
});

describe('a @Retry() on a gRPC handler', () => {
  it('is warned of at boot where the client sends a stream', async () => {
    const app = await startGrpc({ controllers: [handlersOf(backend.call, false, retry)] });

    expect(app.warnings).toEqual([
      expect.stringMatching(
        /^@Retry\(\) on \w+\.clientStream\(\) never applies: the client of this gRPC method sends a/,
      ),
      expect.stringMatching(/^@Retry\(\) on \w+\.bidi\(\) never applies/),
    ]);
  });

  it.each(['clientStream', 'bidi'] as const)('is no retry where the call is passed through (%s)', async (method) => {
    const app = await startGrpc({ controllers: [handlersOf(backend.call, true, Timeout(20), retry)] });

    expect(await app.call(method)).toMatchObject({ code: 4, payload: { code: 'TIMEOUT' } });
    expect(backend.calls).toHaveLength(1);
    expect(app.warnings).toHaveLength(2);
  });
});

describe('a @Retry() on the class of gRPC handlers', () => {
  const classOf = (decorator: ClassDecorator): Type => {
    const cls = handlersOf(backend.call, false, Timeout('1s'));
    decorator(cls);
    return cls;
  };

  it.each([
    ['repeats none of them', {}, [1, 1, 1, 1]],
    ['repeats those without a request stream when they are declared idempotent', { idempotent: true }, [3, 3, 1, 1]],
  ])('%s', async (_, options, attempts) => {
    failing(down);
    const decorator = Retry({ attempts: 3, backoff: { delay: 1 }, ...options }) as ClassDecorator;
    const app = await startGrpc({ controllers: [classOf(decorator)] });
    const made: number[] = [];
    for (const method of METHODS) {
      const before = backend.calls.length;
      await app.call(method);
      made.push(backend.calls.length - before);
    }

    expect(made).toEqual(attempts);
  });
});

describe('an error that a gRPC handler throws', () => {
  const guarded = [retry, CircuitBreaker({ name: 'carrier', minimumCalls: 10 })];
  const attemptsFor = async (error: unknown) => {
    failing(error);
    const app = await startGrpc({ controllers: [handlersOf(backend.call, false, ...guarded)] });
    const { code } = await app.call('unary');

    return { code, attempts: backend.calls.length, counted: app.resilience.circuitBreaker('carrier').stats.failures };
  };

  it.each([3, 5, 6, 7, 9, 11, 16])(
    'blames the caller with the status %i: neither repeated nor counted',
    async (code) => {
      const outcome = await attemptsFor(new RpcException({ code, message: 'no' }));

      expect(outcome).toEqual({ code, attempts: 1, counted: 0 });
    },
  );

  it.each([1, 2, 4, 8, 10, 12, 13, 14, 15])('does not with the status %i: repeated and counted', async (code) => {
    const outcome = await attemptsFor(new RpcException({ code, message: 'no' }));

    expect(outcome).toEqual({ code, attempts: 3, counted: 3 });
  });

  it("of Nest's own for gRPC is told apart in the same way", async () => {
    expect(await attemptsFor(new GrpcNotFoundException())).toMatchObject({ attempts: 1, counted: 0 });
    backend = new Backend();
    expect(await attemptsFor(new GrpcFailedPreconditionException())).toMatchObject({ attempts: 1, counted: 0 });
    backend = new Backend();
    expect(await attemptsFor(new GrpcUnavailableException())).toMatchObject({ attempts: 3, counted: 3 });
  });
});
