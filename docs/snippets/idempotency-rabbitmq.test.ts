import { randomUUID } from 'node:crypto';
import {
  ClientProxyFactory,
  EventPattern,
  Payload,
  RmqRecordBuilder,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { IdempotencyEvents, IdempotencyModule, Idempotent, type IdempotencyEvent } from '@nestjs/idempotency';
import { Test } from '@nestjs/testing';
import { connect } from 'amqplib';
import { lastValueFrom } from 'rxjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { describeWith } from '../../tools/services/services.js';

// #region acknowledge
import { Controller, Module, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { RmqContext, RpcException } from '@nestjs/microservices';
import { catchError, mergeMap, tap, timer, type Observable } from 'rxjs';

interface Channel {
  ack(message: unknown): void;
  nack(message: unknown, allUpTo: boolean, requeue: boolean): void;
}

class AcknowledgeDeliveries implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const message: unknown = context.getArgByIndex(1);
    if (!(message instanceof RmqContext)) return next.handle();

    const channel = message.getChannelRef() as Channel;
    const delivery = message.getMessage();
    return next.handle().pipe(
      // Handlers, replays, and events that are dropped end in the same way.
      tap({ complete: () => channel.ack(delivery) }),
      catchError((error: unknown) => {
        const seconds = secondsToWait(error);
        const refuse = (): never => {
          channel.nack(delivery, false, seconds !== undefined);
          throw error;
        };
        return seconds === undefined ? refuse() : timer(seconds * 1_000).pipe(mergeMap(refuse));
      }),
    );
  }
}

/** A key in use, or a store that is away: this delivery is worth another try. Any other one goes to the dead letters. */
function secondsToWait(error: unknown): number | undefined {
  const payload = error instanceof RpcException ? error.getError() : undefined;

  return typeof payload === 'object' ? (payload as { retryAfter?: number }).retryAfter : undefined;
}

/** Imported before `IdempotencyModule`, so that it also sees the calls that no handler sees. */
@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: AcknowledgeDeliveries }] })
class DeliveriesModule {}
// #endregion

let runs: number[] = [];
let broken = false;
let held: Promise<void> | undefined;

/** Keeps the handler from ending until the function that it returns is called. */
function hold(): () => void {
  let finish: () => void = () => {};
  held = new Promise((resolve) => (finish = resolve));

  return () => finish();
}

beforeEach(() => {
  runs = [];
  held = undefined;
  broken = false;
});

@Controller()
@Idempotent()
class Orders {
  @EventPattern('placed')
  async placed(@Payload() id: number): Promise<void> {
    runs.push(id);
    await held;
    if (broken) throw new Error('broken');
  }
}

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(imports: (typeof DeliveriesModule)[]) {
  const queue = `deliveries.${randomUUID()}`;
  const options = {
    urls: ['amqp://guest:guest@127.0.0.1:5672'],
    queue,
    queueOptions: { durable: false, expires: 60_000 },
  };
  const module = await Test.createTestingModule({
    imports: [...imports, IdempotencyModule.forRoot({})],
    controllers: [Orders],
  }).compile();
  const served: MicroserviceOptions = { transport: Transport.RMQ, options: { ...options, noAck: false } };
  const app = module.createNestMicroservice({ ...served, logger: false });
  await app.listen();
  closers.push(() => app.close());
  const events: IdempotencyEvent[] = [];
  app.get(IdempotencyEvents).events$.subscribe((event) => events.push(event));
  const client = ClientProxyFactory.create({ transport: Transport.RMQ, options });
  closers.push(async () => client.close());

  return {
    events,
    async emit(id: number, key: string) {
      const record = new RmqRecordBuilder(id).setOptions({ headers: { 'idempotency-key': key } }).build();
      await lastValueFrom(client.emit('placed', record), { defaultValue: undefined });
    },
    /** What comes again once the microservice has gone. */
    async unacknowledged(): Promise<number> {
      await app.close();
      const connection = await connect('amqp://guest:guest@127.0.0.1:5672');
      closers.push(() => connection.close());
      const channel = await connection.createChannel();
      return (await channel.checkQueue(queue)).messageCount;
    },
  };
}

const types = (events: readonly IdempotencyEvent[]): string[] => events.map(({ type }) => type);

describeWith('rabbitmq', 'Deliveries that have to be acknowledged', () => {
  it('are, after a handler, a replay and an event that is dropped', async () => {
    const { emit, events, unacknowledged } = await start([DeliveriesModule]);
    await emit(1, 'k');
    await vi.waitFor(() => expect(types(events)).toContain('stored'));
    await emit(1, 'k');
    await emit(2, 'k');
    await vi.waitFor(() => expect(types(events)).toEqual(expect.arrayContaining(['replayed', 'rejected'])));

    expect(await unacknowledged()).toBe(0);
    expect(runs).toEqual([1]);
  });

  it('are refused for good when the handler fails', async () => {
    broken = true;
    const { emit, events, unacknowledged } = await start([DeliveriesModule]);
    await emit(1, 'k');
    await vi.waitFor(() => expect(types(events)).toContain('released'));

    expect(await unacknowledged()).toBe(0);
    expect(runs).toEqual([1]);
  });

  it('are delivered again later while their key is in use', async () => {
    const { emit, events, unacknowledged } = await start([DeliveriesModule]);
    const finish = hold();
    await emit(1, 'k');
    await vi.waitFor(() => expect(runs).toEqual([1]));
    await emit(1, 'k');
    await vi.waitFor(() => expect(types(events)).toContain('rejected'));
    finish();
    await vi.waitFor(() => expect(types(events)).toContain('replayed'), 5_000);

    expect(await unacknowledged()).toBe(0);
    expect(runs).toEqual([1]);
  });

  it('are not by keys alone: what is replayed comes again', async () => {
    const { emit, events, unacknowledged } = await start([]);
    await emit(1, 'k');
    await vi.waitFor(() => expect(types(events)).toContain('stored'));
    await emit(1, 'k');
    await vi.waitFor(() => expect(types(events)).toContain('replayed'));

    expect(await unacknowledged()).toBe(2);
  });
});
