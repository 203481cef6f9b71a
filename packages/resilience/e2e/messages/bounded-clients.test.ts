import { headers as natsHeaders } from '@nats-io/transport-node';
import { Controller } from '@nestjs/common';
import {
  Ctx,
  EventPattern,
  MessagePattern,
  MqttRecordBuilder,
  NatsRecord,
  NatsRecordBuilder,
  Payload,
  RmqRecordBuilder,
  type BaseRpcContext,
} from '@nestjs/microservices';
import {
  boundedClient,
  BudgetPolicy,
  DeadlineExceededError,
  ResilienceContext,
  ResiliencePolicy,
  ResilienceTimeoutError,
  RetryPolicy,
  TimeoutPolicy,
} from '@nestjs/resilience';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { messageHeader } from 'holdfast/nest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending, turns, until } from '../fixtures/backend.js';
import { dataWith } from '../fixtures/message-headers.js';
import { EVERY_TRANSPORT, onTransports, patternOf, type TransportName } from '../fixtures/microservice.js';

const HEADER = 'x-request-timeout-ms';

let backend: Backend;
let received: { readonly data: unknown; readonly header: unknown; readonly others: unknown }[] = [];

beforeEach(() => {
  backend = new Backend();
  received = [];
});

function note(data: unknown, context: BaseRpcContext): void {
  received.push({ data, header: messageHeader(context, HEADER), others: messageHeader(context, 'x-trace') });
}

/** Without decorators of ours: any service behind a client. */
@Controller()
class Warehouse {
  @MessagePattern(patternOf('stock'))
  stock(@Payload() data: unknown, @Ctx() context: BaseRpcContext) {
    note(data, context);
    return backend.call();
  }

  @EventPattern<string>(patternOf('moved'))
  moved(@Payload() data: unknown, @Ctx() context: BaseRpcContext) {
    note(data, context);
  }
}

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'answered',
    (error: unknown) => error,
  );

onTransports(EVERY_TRANSPORT, 'A bounded client', (start, { name }) => {
  const startWarehouse = async () => {
    const service = await start({ controllers: [Warehouse] });
    const bounded = boundedClient(service.client, { header: HEADER });
    const ask = (data: unknown = { sku: 1 }) => lastValueFrom(bounded.send<unknown>(patternOf('stock'), data));
    freezeTime();

    return { ...service, bounded, ask };
  };

  it('ends with the attempt that it is used in, with that attempt’s reason', async () => {
    const { ask } = await startWarehouse();
    const error = failure(new TimeoutPolicy('300ms').execute(() => ask()));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(300);

    expect(await error).toBeInstanceOf(ResilienceTimeoutError);
    expect(received[0]?.header).toBe('300');
  });

  it('ends by itself too, where nobody else would have ended it', async () => {
    const { ask } = await startWarehouse();
    const controller = new AbortController();
    const reason = new Error('shut down');
    const error = failure(new ResilienceContext().run({ signal: controller.signal }, () => ask()));
    await backend.reached(1);
    controller.abort(reason);

    expect(await error).toBe(reason);
    expect(received[0]?.header).toBeUndefined();
  });

  it('waits for no answer any more once it has ended', async () => {
    const { client, bounded } = await startWarehouse();
    const controller = new AbortController();
    const error = failure(
      new ResilienceContext().run({ signal: controller.signal }, () =>
        lastValueFrom(bounded.send<unknown>(patternOf('stock'), {})),
      ),
    );
    await backend.reached(1);
    const { routingMap } = client as unknown as { routingMap: Map<string, unknown> };
    const waiting = routingMap.size;
    controller.abort(new Error('shut down'));
    await error;

    expect([waiting, routingMap.size]).toEqual([1, 0]);
  });

  it('says anew for each attempt what is left, rounded up', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(new DependencyError(503)) : call.answer('in stock')));
    const { ask } = await startWarehouse();
    let failed = false;
    const policy = ResiliencePolicy.wrap(
      new BudgetPolicy(900),
      new RetryPolicy({ attempts: 2, backoff: { delay: 99.5, factor: 1 }, retryIf: () => (failed = true) }),
      new TimeoutPolicy('5s'),
    );
    const answer = policy.execute(() => ask());
    await until(() => failed);
    await vi.advanceTimersByTimeAsync(100);

    expect(await answer).toBe('in stock');
    expect(received.map(({ header }) => header)).toEqual(['900', '800']);
  });

  it('says it at the moment of the subscription, not before', async () => {
    backend.script((call) => call.answer('in stock'));
    const { bounded } = await startWarehouse();
    await new BudgetPolicy('1s').execute(async () => {
      const answer$ = bounded.send<unknown>(patternOf('stock'), {});
      await vi.advanceTimersByTimeAsync(400);
      return firstValueFrom(answer$);
    });

    expect(received.map(({ header }) => header)).toEqual(['600']);
  });

  it('has nothing left at a deadline that has passed: nothing is sent', async () => {
    const { ask } = await startWarehouse();
    const error = failure(
      new BudgetPolicy('300ms').execute(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return new ResilienceContext().run({ signal }, () => ask());
      }),
    );
    await vi.advanceTimersByTimeAsync(300);

    expect(await error).toBeInstanceOf(DeadlineExceededError);
    await turns();
    expect(received).toEqual([]);
  });

  it('changes nothing outside of attempts', async () => {
    const { ask } = await startWarehouse();
    const answer = ask();
    const running = await backend.reached(1);
    expect(await isPending(answer)).toBe(true);
    running.answer('in stock');

    expect(await answer).toBe('in stock');
    expect(received).toEqual([{ data: { sku: 1 }, header: undefined, others: undefined }]);
  });

  it('passes on all values of an answer', async () => {
    backend.script((call) => call.answer('in stock'));
    const { bounded } = await startWarehouse();
    const values = await new TimeoutPolicy('1s').execute(() =>
      firstValueFrom(bounded.send<unknown>(patternOf('stock'), {}).pipe(toArray())),
    );

    expect(values).toEqual(['in stock']);
  });

  it('passes on what the other side answers with', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { ask } = await startWarehouse();

    expect(await failure(new TimeoutPolicy('1s').execute(() => ask()))).toEqual({
      status: 'error',
      message: 'Internal server error',
    });
  });

  it('sends events that carry what is left, and are not taken back', async () => {
    const { bounded } = await startWarehouse();
    await new BudgetPolicy('300ms').execute(() => {
      bounded.emit(patternOf('moved'), { sku: 1 });
      return Promise.resolve();
    });

    await until(() => received.length === 1);
    expect(received).toEqual([{ data: { sku: 1 }, header: '300', others: undefined }]);
  });

  it('keeps what the message itself says beside it, in each attempt, and changes nothing of it', async () => {
    backend.script((call) => call.answer('in stock'));
    const { ask, client } = await startWarehouse();
    const data = dataWith(name, { client, data: { sku: 1 }, headers: { 'x-trace': 'abc' } });
    const before = headersIn(data);
    for (const budget of [300, 200] as const) await new BudgetPolicy(budget).execute(() => ask(copyFor(name, data)));

    expect(received).toEqual([
      { data: { sku: 1 }, header: '300', others: 'abc' },
      { data: { sku: 1 }, header: '200', others: 'abc' },
    ]);
    expect(headersIn(data)).toEqual(before);
  });

  it('leaves the same header alone when the message says it itself', async () => {
    backend.script((call) => call.answer('in stock'));
    const { ask, client } = await startWarehouse();
    const data = dataWith(name, { client, data: { sku: 1 }, headers: { [HEADER]: '50' } });
    await new BudgetPolicy(300).execute(() => ask(data));

    expect(received[0]?.header).toBe('50');
  });

  it('carries nothing unless a header is named', async () => {
    backend.script((call) => call.answer('in stock'));
    const { client } = await startWarehouse();
    const bounded = boundedClient(client);
    await new BudgetPolicy(300).execute(() => firstValueFrom(bounded.send<unknown>(patternOf('stock'), {})));

    expect(received[0]?.header).toBeUndefined();
  });
});

function headersIn(data: unknown): unknown {
  return data instanceof NatsRecord ? [...(data.headers as Iterable<unknown>)] : structuredClone(data);
}

/** Nest's client for MQTT takes the options off a record that it sends. */
function copyFor(transport: TransportName, data: unknown): unknown {
  if (transport !== 'MQTT') return data;

  const { data: own, options } = data as { readonly data: unknown; readonly options: { readonly properties: object } };
  return new MqttRecordBuilder(own).setProperties(options.properties).build();
}

onTransports(['NATS'], 'A bounded client of NATS', (start) => {
  it('writes into no headers of the caller’s', async () => {
    backend.script((call) => call.answer('in stock'));
    const { client } = await start({ controllers: [Warehouse] });
    const bounded = boundedClient(client, { header: HEADER });
    const list = natsHeaders();
    list.append('x-trace', 'abc');
    const record = new NatsRecordBuilder({ sku: 1 }).setHeaders(list).build();
    await new BudgetPolicy('1m').execute(() => firstValueFrom(bounded.send<unknown>(patternOf('stock'), record)));

    expect([...list.keys()]).toEqual(['x-trace']);
    expect(received[0]?.header).toMatch(/^\d{5}$/);
  });
});

onTransports(['RabbitMQ'], 'A bounded client of RabbitMQ', (start) => {
  it('keeps the options of the message', async () => {
    backend.script((call) => call.answer('in stock'));
    const { client } = await start({ controllers: [Warehouse] });
    const bounded = boundedClient(client, { header: HEADER });
    const record = new RmqRecordBuilder({ sku: 1 }).setOptions({ priority: 3, headers: { 'x-trace': 'abc' } }).build();
    await new BudgetPolicy('1m').execute(() => firstValueFrom(bounded.send<unknown>(patternOf('stock'), record)));

    expect(received).toMatchObject([{ data: { sku: 1 }, others: 'abc' }]);
    expect(record).toEqual({ data: { sku: 1 }, options: { priority: 3, headers: { 'x-trace': 'abc' } } });
  });
});
