import { Metadata, type CallOptions } from '@grpc/grpc-js';
import { Controller, type Type } from '@nestjs/common';
import {
  ClientProxyFactory,
  GrpcMethod,
  GrpcStreamMethod,
  Transport,
  type ClientGrpc,
  type ClientGrpcProxy,
} from '@nestjs/microservices';
import {
  boundedGrpcClient,
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreakerPolicy,
  ResilienceContext,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  Timeout,
  TimeoutPolicy,
} from '@nestjs/resilience';
import { firstValueFrom, from, lastValueFrom, map, NEVER, of, toArray, type Observable } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { turns, until } from '../fixtures/backend.js';
import {
  closeAfterTest,
  closeGrpcAfterEach,
  METHODS,
  PROTO,
  startGrpc,
  type Method,
  type Text,
} from '../fixtures/grpc.js';

closeGrpcAfterEach();

/** A call as the server of the dependency sees it. */
interface ServerCall {
  readonly cancelled: boolean;
  readonly metadata: Metadata;
  getDeadline(): number;
}

type Call = (request: unknown, metadata?: Metadata, options?: CallOptions) => Observable<Text>;
type Service = Readonly<Record<Method, Call>>;

/** How long the client waits, by each call's deadline as it arrives; and the calls. */
let left: number[];
let calls: ServerCall[];

beforeEach(() => {
  left = [];
  calls = [];
});

function arrived<T>(answer: Observable<T>, call: ServerCall): Observable<T> {
  calls.push(call);
  left.push(call.getDeadline() - Date.now());
  return answer;
}

const joined = (messages: Observable<Text>) =>
  messages.pipe(
    toArray(),
    map((all) => ({ text: all.map(({ text }) => text).join('+') })),
  );

/** Answers with what it is asked; what is asked `'hang'` gets no answer. */
@Controller()
class Dependency {
  @GrpcMethod('Calls', 'Unary')
  unary({ text }: Text, _: Metadata, call: ServerCall) {
    return arrived(text === 'hang' ? NEVER : of({ text }), call);
  }

  @GrpcMethod('Calls', 'ServerStream')
  serverStream({ text }: Text, _: Metadata, call: ServerCall) {
    return arrived(text === 'hang' ? NEVER : of({ text }), call);
  }

  @GrpcStreamMethod('Calls', 'ClientStream')
  clientStream(messages: Observable<Text>, _: Metadata, call: ServerCall) {
    return arrived(joined(messages), call);
  }

  @GrpcStreamMethod('Calls', 'Bidi')
  bidi(messages: Observable<Text>, _: Metadata, call: ServerCall) {
    return arrived(messages, call);
  }
}

function clientOf(url: string): ClientGrpcProxy {
  const client = ClientProxyFactory.create({
    transport: Transport.GRPC,
    options: { package: 'calls', protoPath: PROTO, url },
  }) as unknown as ClientGrpcProxy;
  closeAfterTest(() => client.close());

  return client;
}

async function startDependency(): Promise<Service> {
  const { url } = await startGrpc({ controllers: [Dependency] });

  const service = boundedGrpcClient(clientOf(url)).getService<Service>('Calls');
  // Connects, which takes a while.
  await firstValueFrom(service.unary({ text: 'connect' }));
  left = [];
  calls = [];

  return service;
}

const streamsAnswers = (method: Method) => method === 'serverStream' || method === 'bidi';
const streamsRequests = (method: Method) => method === 'clientStream' || method === 'bidi';

/** The request of a call that hangs, or of one that is answered. */
const requestOf = (method: Method, text: string): unknown => {
  if (!streamsRequests(method)) return { text };

  return text === 'hang' ? NEVER : from([{ text }]);
};

describe.each(METHODS)('a call of a bounded gRPC client (%s)', (method) => {
  const answers = streamsAnswers(method);

  it('is what it is without the client outside of attempts', async () => {
    const service = await startDependency();

    expect(await firstValueFrom(service[method](requestOf(method, 'quotes')))).toEqual({ text: 'quotes' });
    expect(left).toEqual([Infinity]);
  });

  it(
    answers ? 'has no deadline of limits that end with its first value' : 'has what is left as its deadline',
    async () => {
      const service = await startDependency();
      freezeTime();
      const call = () => firstValueFrom(service[method](requestOf(method, 'quotes')));

      expect(await new TimeoutPolicy('1s').execute(call)).toEqual({ text: 'quotes' });
      await ResiliencePolicy.wrap(new BudgetPolicy('2s'), new TimeoutPolicy('3s')).execute(call);
      expect(left).toEqual(answers ? [Infinity, Infinity] : [1_005, 2_005]);
    },
  );

  it("is cancelled when its attempt is given up, and ends with the attempt's reason", async () => {
    const service = await startDependency();
    const error: unknown = await new TimeoutPolicy({ name: 'carrier', timeout: 200 })
      .execute(() => lastValueFrom(service[method](requestOf(method, 'hang'))))
      .catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(ResilienceTimeoutError);
    await until(() => calls[0]?.cancelled === true);
  });

  it('hands its metadata on, and its own options unless the attempt ends before', async () => {
    const service = await startDependency();
    const metadata = new Metadata();
    metadata.set('tenant', 'acme');
    // Nest hands no options on with a request stream.
    const options = streamsRequests(method) ? undefined : Object.freeze({ deadline: Date.now() + 500 });
    const call = () => lastValueFrom(service[method](requestOf(method, 'quotes'), metadata, options));

    expect(await new TimeoutPolicy('1h').execute(call)).toEqual({ text: 'quotes' });
    expect(calls[0]?.metadata.get('tenant')).toEqual(['acme']);
    if (options !== undefined) expect(left[0]).toBeLessThanOrEqual(500);
  });

  it('has the deadline that the caller of the application has set', async () => {
    const service = await startDependency();
    const gateway = await startGrpc({ controllers: [gatewayOf(service, method)] });

    expect(await gateway.call('serverStream', { deadlineMs: 2_000 })).toMatchObject({ values: ['quotes'], code: 0 });
    expect(left[0]).toBeGreaterThan(1_000);
    expect(left[0]).toBeLessThanOrEqual(2_005);
  });

  it('is cancelled when the client of the application cancels', async () => {
    const service = await startDependency();
    const gateway = await startGrpc({
      controllers: [gatewayOf(service, method, 'hang')],
      options: { abortOnDisconnect: 'always' },
    });
    const call = gateway.open('serverStream');
    await until(() => calls.length === 1);
    call.cancel();

    await until(() => calls[0]?.cancelled === true);
    expect(gateway.log.errors).toEqual([]);
  });

  it('is as it was once its attempt is over', async () => {
    const service = await startDependency();
    await new TimeoutPolicy('1m').execute(() => firstValueFrom(service[method](requestOf(method, 'quotes'))));

    expect(await firstValueFrom(service[method](requestOf(method, 'quotes')))).toEqual({ text: 'quotes' });
    expect(left[1]).toBe(Infinity);
  });
});

/** A handler that hands on what a dependency answers. */
function gatewayOf(service: Service, method: Method, text = 'quotes'): Type {
  @Controller()
  class Gateway {
    @GrpcMethod('Calls', 'ServerStream')
    @Timeout('1h')
    serverStream() {
      return service[method](requestOf(method, text));
    }
  }

  return Gateway;
}

describe('a bounded gRPC client', () => {
  it('sets the deadline anew for each attempt', async () => {
    const service = await startDependency();
    freezeTime();
    const policy = ResiliencePolicy.wrap(
      new BudgetPolicy('1s'),
      new RetryPolicy({ attempts: 3, backoff: { delay: 100, jitter: 'none', factor: 1 } }),
    );
    const call = policy.execute(async () => {
      await firstValueFrom(service.unary({ text: 'quotes' }));
      throw new Error('not yet');
    });
    call.catch(() => {});
    for (let attempt = 1; attempt <= 3; attempt++) {
      await until(() => left.length === attempt);
      await turns();
      await vi.advanceTimersByTimeAsync(100);
    }

    await expect(call).rejects.toThrow('not yet');
    expect(left).toEqual([1_005, 905, 805]);
  });

  it('keeps a deadline of its own that is earlier, and shortens one that is later', async () => {
    const service = await startDependency();
    freezeTime();
    const call = (options: CallOptions) => () =>
      firstValueFrom(service.unary({ text: 'quotes' }, new Metadata(), options));
    const policy = new TimeoutPolicy('1s');
    await policy.execute(call({ deadline: Date.now() + 300 }));
    await policy.execute(call({ deadline: new Date(Date.now() + 400) }));
    await policy.execute(call({ deadline: Date.now() + 5_000 }));

    expect(left).toEqual([300, 400, 1_005]);
  });

  it('does not call at all where whoever it would be for has left', async () => {
    const service = await startDependency();
    const reason = new Error('left');
    const call = new ResilienceContext().run({ signal: AbortSignal.abort(reason) }, () =>
      firstValueFrom(service.unary({ text: 'quotes' })),
    );

    await expect(call).rejects.toBe(reason);
    expect(calls).toEqual([]);
  });

  it('leaves its attempt with its answer: what waits in a queue afterwards is all that the attempt waits for', async () => {
    const service = await startDependency();
    freezeTime();
    const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
    void bulkhead.execute(() => new Promise(() => {}));
    const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
    const outcome = ResiliencePolicy.wrap(breaker, new TimeoutPolicy('1s')).execute(async () => {
      await firstValueFrom(service.unary({ text: 'quotes' }));
      await bulkhead.execute(() => 'never');
    });
    outcome.catch(() => {});
    await until(() => bulkhead.queued === 1);
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(outcome).rejects.toBeInstanceOf(ResilienceTimeoutError);
    expect(breaker.stats.total).toBe(0);
  });

  it('bounds a stub too, which carries nothing', async () => {
    const stub = {
      getService: () => ({ unary: () => NEVER, address: 'here' }),
      getClientByServiceName: () => ({}),
    } as unknown as ClientGrpc;
    const service = boundedGrpcClient(stub).getService<{ unary: () => Observable<Text>; address: string }>('Calls');

    await expect(new TimeoutPolicy(20).execute(() => firstValueFrom(service.unary()))).rejects.toBeInstanceOf(
      ResilienceTimeoutError,
    );
    expect(service.address).toBe('here');
  });

  it('is refused where it is none', () => {
    expect(() => boundedGrpcClient({} as ClientGrpc)).toThrow(TypeError);
    expect(() => boundedGrpcClient(undefined as never)).toThrow(/client: expected a ClientGrpc/);
  });
});
