import { Controller, Get, Injectable, Scope, type INestApplication, type Type } from '@nestjs/common';
import { GrpcMethod, GrpcStreamMethod, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import {
  Bulkhead,
  ClientDisconnectedError,
  deadlineHeader,
  Resilience,
  ResilienceModule,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { from, map, type Observable } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../../../tools/services/free-port.js';
import { CapturedLog, freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending, until } from '../fixtures/backend.js';
import { call as callHttp } from '../fixtures/client.js';
import {
  callOf,
  closeAfterTest,
  closeGrpcAfterEach,
  connect,
  METHODS,
  PROTO,
  startGrpc,
  type Text,
} from '../fixtures/grpc.js';

closeGrpcAfterEach();

let backend: Backend;
let instances: number;

beforeEach(() => {
  backend = new Backend();
  instances = 0;
});

const inText = (answer: Promise<unknown>): Observable<Text> =>
  from(answer).pipe(map((value) => ({ text: String(value) })));

@Injectable({ scope: Scope.REQUEST })
class PerCall {
  readonly nth = ++instances;

  readonly ask = (signal: AbortSignal): Observable<Text> => inText(backend.call(signal));
}

const limited = Timeout('1s');
const repeated = Retry({ attempts: 2, backoff: { delay: 0 } });
const held = Bulkhead({ name: 'scoped', maxConcurrent: 1 });

@Controller()
class ScopedHandlers {
  constructor(private readonly perCall: PerCall) {}

  @GrpcMethod('Calls', 'Unary')
  @limited
  @repeated
  @held
  unary(@Signal() signal: AbortSignal) {
    return this.perCall.ask(signal);
  }

  @GrpcMethod('Calls', 'ServerStream')
  @limited
  @repeated
  @held
  serverStream(@Signal() signal: AbortSignal) {
    return this.perCall.ask(signal);
  }

  @GrpcStreamMethod('Calls', 'ClientStream')
  @limited
  @held
  clientStream(@Signal() signal: AbortSignal) {
    return this.perCall.ask(signal);
  }

  @GrpcStreamMethod('Calls', 'Bidi')
  @limited
  @held
  bidi(@Signal() signal: AbortSignal) {
    return this.perCall.ask(signal);
  }
}

const PAYLOAD = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };

describe.each(METHODS)('a request-scoped gRPC handler (%s)', (method) => {
  const start = () =>
    startGrpc({
      controllers: [ScopedHandlers],
      providers: [PerCall],
      options: { abortOnDisconnect: 'always' },
    });
  const attempts = method === 'unary' || method === 'serverStream' ? 2 : 1;

  it(`is limited in each of its ${attempts} attempts, with an instance for the call and a signal for each`, async () => {
    const app = await start();
    freezeTime();
    const { answer } = app.open(method);
    for (let nth = 1; nth <= attempts; nth++) {
      await backend.reached(nth);
      await vi.advanceTimersByTimeAsync(1_000);
      await vi.advanceTimersByTimeAsync(1);
    }

    expect(await answer).toMatchObject({ code: 4, payload: PAYLOAD });
    expect(new Set(backend.calls.map(({ signal }) => signal)).size).toBe(attempts);
    expect(backend.states).toEqual(new Array(attempts).fill('cancelled'));
    expect(instances).toBe(1);
    expect(app.resilience.bulkhead('scoped')).toMatchObject({ active: 0, abandoned: 0 });
  });

  it('ends with its client', async () => {
    const app = await start();
    const open = app.open(method);
    const { signal } = await backend.reached(1);
    open.cancel();

    await until(() => signal?.aborted === true);
    expect(signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    await until(() => app.resilience.bulkhead('scoped').active === 0);
    expect(app.log.errors).toEqual([]);
  });

  it('ends at the deadline of its caller', async () => {
    const app = await start();
    freezeTime();
    const { answer } = app.open(method, { deadlineMs: 300 });
    const { signal } = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(300);

    expect((await answer).code).toBe(4);
    await until(() => signal?.aborted === true);
    expect(signal?.reason).toMatchObject({ code: 'DEADLINE_EXCEEDED', budgetMs: 300 });
  });
});

@Controller('quotes')
class QuotesController {
  @Get()
  @Resilience('carrier')
  get() {
    return backend.call();
  }
}

@Controller()
class QuotesHandlers {
  @GrpcMethod('Calls', 'Unary')
  @Resilience('carrier')
  unary() {
    return inText(backend.call());
  }
}

describe('gRPC in a hybrid application', () => {
  const startHybrid = async (inheritAppConfig: boolean, ...controllers: Type[]) => {
    const log = new CapturedLog();
    const presets = { carrier: { timeout: '1s', circuitBreaker: { minimumCalls: 1 } } } as const;
    const module = await Test.createTestingModule({
      imports: [ResilienceModule.forRoot({ presets })],
      controllers: [QuotesController, ...controllers],
    })
      .setLogger(log)
      .compile();
    const app: INestApplication = module.createNestApplication({ logger: log });
    closeAfterTest(() => app.close());
    const url = `127.0.0.1:${await freePort()}`;
    const options = { package: 'calls', protoPath: PROTO, url };
    app.connectMicroservice<MicroserviceOptions>({ transport: Transport.GRPC, options }, { inheritAppConfig });
    await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    const client = connect(url);
    return { log, http: await app.getUrl(), call: () => callOf(client, 'unary') };
  };
  const warnings = ({ lines }: CapturedLog) => lines.filter((line) => line.includes('inheritAppConfig'));

  it('shares the breaker of a preset with a route, each with the error of its transport', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { call, http, log } = await startHybrid(true, QuotesHandlers);
    expect((await callHttp(`${http}/quotes`)).status).toBe(500);

    expect(await call()).toMatchObject({ code: 14, payload: { code: 'CIRCUIT_OPEN', statusCode: 503 } });
    expect((await callHttp(`${http}/quotes`)).status).toBe(503);
    expect(backend.calls).toHaveLength(1);
    expect(warnings(log)).toEqual([]);
  });

  it('is warned of where it does not inherit, and its decorators do nothing', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { call, log } = await startHybrid(false, QuotesHandlers);

    expect(warnings(log)).toEqual([expect.stringContaining('Resilience decorators on QuotesHandlers.unary()')]);
    expect([(await call()).code, (await call()).code]).toEqual([2, 2]);
    expect(backend.calls).toHaveLength(2);
  });
});

const outgoing: unknown[] = [];

@Controller()
class MarginHandlers {
  @GrpcMethod('Calls', 'Unary')
  @Timeout('10s')
  unary(@Signal() signal: AbortSignal) {
    outgoing.push(deadlineHeader('grpc-timeout'));
    return inText(backend.call(signal));
  }
}

describe('a deadlineMargin', () => {
  const start = () =>
    startGrpc({
      controllers: [MarginHandlers],
      options: { deadlineMargin: '200ms', deadlineHeaders: ['x-request-timeout-ms'] },
    });

  it.each([
    ['the deadline of a gRPC client', { deadlineMs: 500 }],
    ['what its metadata says', { metadata: { 'x-request-timeout-ms': '500' } }],
    ['the shorter of both', { deadlineMs: 500, metadata: { 'x-request-timeout-ms': '900' } }],
  ])('is taken off %s, so that the answer is there in time', async (_what, options) => {
    const app = await start();
    freezeTime();
    outgoing.length = 0;
    const { answer } = app.open('unary', options);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(299);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    expect(await answer).toMatchObject({
      code: 4,
      payload: { code: 'DEADLINE_EXCEEDED', statusCode: 504, message: 'The operation timed out' },
    });
    expect(app.events).toMatchObject([{ type: 'deadline', budgetMs: 300 }]);
    expect(outgoing).toEqual(['300m']);
  });

  it('that leaves nothing keeps the handler from running', async () => {
    const app = await start();

    expect(await app.call('unary', { deadlineMs: 150 })).toMatchObject({
      code: 4,
      payload: { code: 'DEADLINE_EXCEEDED' },
    });
    expect(backend.calls).toEqual([]);
  });
});
