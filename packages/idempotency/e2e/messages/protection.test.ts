import { Controller, HttpException } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices';
import { from, Observable, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { Idempotent, IdempotencyService } from '../../src/index.js';
import { onEachTransport, patternOf } from '../fixtures/microservice.js';

let runs: string[] = [];
let finish: () => void = () => {};

beforeEach(() => {
  runs = [];
});

const FAILURES: Readonly<Record<string, () => Error>> = {
  text: () => new RpcException('declined'),
  object: () => new RpcException({ status: 'error', reason: 7, message: 'declined' }),
  'status 404': () => new RpcException({ statusCode: 404, message: 'none' }),
  'status 503': () => new RpcException({ status: 'error', code: 'CIRCUIT_OPEN', statusCode: 503, message: 'open' }),
  'http 400': () => new HttpException('bad', 400),
  unknown: () => new Error('broken'),
};

interface Order {
  readonly id?: number;
  readonly idempotencyKey?: string | number;
}

@Controller()
@Idempotent()
class Orders {
  @MessagePattern(patternOf('create'))
  create(@Payload() order: Order) {
    runs.push(`create ${order.id}`);
    return { number: runs.length, id: order.id };
  }

  @MessagePattern({ cmd: patternOf('object'), version: 1 })
  object() {
    runs.push('object');
    return runs.length;
  }

  @MessagePattern(patternOf('required'))
  @Idempotent({ required: true })
  required() {
    runs.push('required');
    return 1;
  }

  @MessagePattern(patternOf('free'))
  @Idempotent(false)
  free() {
    runs.push('free');
    return runs.length;
  }

  @MessagePattern(patternOf('slow'))
  @Idempotent({ retryAfter: '1.5s' })
  slow() {
    return new Observable((subscriber) => {
      runs.push('slow');
      finish = () => {
        subscriber.next('done');
        subscriber.complete();
      };
    });
  }

  @MessagePattern(patternOf('stream'))
  stream() {
    runs.push('stream');
    return from([1, 2, 3]);
  }

  @MessagePattern(patternOf('fail'))
  fail(@Payload() { how = '' }: { how?: string }): never {
    runs.push(how);
    throw FAILURES[how]?.() ?? new Error(how);
  }

  @EventPattern(patternOf('happened'))
  happened(@Payload() order: Order) {
    runs.push(`first ${order.id}`);
  }

  @EventPattern(patternOf('required-event'))
  @Idempotent({ required: true })
  requiredEvent(@Payload() order: Order) {
    runs.push(`required ${order.id}`);
  }
}

@Controller()
class Audits {
  @EventPattern(patternOf('happened'))
  @Idempotent()
  happened(@Payload() order: Order) {
    runs.push(`second ${order.id}`);
    return of(order.id);
  }
}

@Controller()
class Refunds {
  constructor(private readonly idempotency: IdempotencyService) {}

  @MessagePattern(patternOf('refund'))
  @Idempotent()
  refund(@Payload() order: Order) {
    const name = 'Refunds.refund';

    return this.idempotency.run('k', () => runs.push(`refund ${order.id}`), { name });
  }
}

const KEY = (key: string) => ({ 'idempotency-key': key });

onEachTransport('A message with a key', (start, transport) => {
  it('runs its handler once, and gets the same answer again', async () => {
    const { send, events } = await start([Orders]);
    const first = await send(patternOf('create'), { id: 1 }, KEY('k'));

    expect(first).toEqual([{ number: 1, id: 1 }]);
    expect(await send(patternOf('create'), { id: 1 }, KEY('"k"'))).toEqual(first);
    expect(runs).toEqual(['create 1']);
    expect(events.map(({ type, context, handler }) => [type, context, handler])).toEqual([
      ['executed', 'rpc', 'Orders.create'],
      ['stored', 'rpc', 'Orders.create'],
      ['replayed', 'rpc', 'Orders.create'],
    ]);
  });

  it('has it in its payload first, of which it is a part', async () => {
    const { send } = await start([Orders]);
    const first = await send(patternOf('create'), { id: 1, idempotencyKey: '42' }, KEY('one'));

    expect(await send(patternOf('create'), { id: 1, idempotencyKey: '42' }, KEY('two'))).toEqual(first);
    await expect(send(patternOf('create'), { id: 1, idempotencyKey: 42 })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
    expect(runs).toEqual(['create 1']);
  });

  it('may have one as long as HTTP allows, and no longer', async () => {
    const { send } = await start([Orders]);
    const long = 'k'.repeat(255);
    await send(patternOf('required'), {}, KEY(long));
    await send(patternOf('required'), {}, KEY(long));
    expect(runs).toEqual(['required']);

    await expect(send(patternOf('required'), {}, KEY(`${long}k`))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_INVALID',
    });
  });

  it('is told what is wrong, as the payload of an error', async () => {
    const { send } = await start([Orders]);
    await send(patternOf('create'), { id: 1 }, KEY('k'));

    await expect(send(patternOf('create'), { id: 2 }, KEY('k'))).rejects.toEqual({
      status: 'error',
      code: 'IDEMPOTENCY_KEY_REUSED',
      statusCode: 422,
      message: expect.any(String),
    });
    await expect(send(patternOf('required'), {})).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REQUIRED',
      statusCode: 400,
    });
    await expect(send(patternOf('required'), {}, { 'idempotency-key': ['a', 'b'] })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_INVALID',
      statusCode: 400,
    });
    expect(runs).toEqual(['create 1']);
  });

  it('is in use while it runs, with the seconds until it is worth trying again', async () => {
    const { send } = await start([Orders]);
    const first = send(patternOf('slow'), {}, KEY('k'));
    await vi.waitFor(() => expect(runs).toEqual(['slow']));

    await expect(send(patternOf('slow'), {}, KEY('k'))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_IN_USE',
      statusCode: 409,
      retryAfter: 2,
    });
    finish();
    expect(await first).toEqual(['done']);
    expect(await send(patternOf('slow'), {}, KEY('k'))).toEqual(['done']);
  });

  it('runs again when it was answered with a stream, of which it is warned once', async () => {
    const { send, log } = await start([Orders]);
    for (let n = 0; n < 2; n++) expect(await send(patternOf('stream'), {}, KEY('k'))).toEqual([1, 2, 3]);

    expect(runs).toEqual(['stream', 'stream']);
    expect(log.own).toEqual([expect.stringContaining('Orders.stream() answered with a stream')]);
  });

  it('runs without a key, and where a handler has opted out', async () => {
    const { send } = await start([Orders]);
    for (let n = 0; n < 2; n++) await send(patternOf('create'), { id: 1 });
    for (let n = 0; n < 2; n++) await send(patternOf('free'), {}, KEY('k'));

    expect(runs).toEqual(['create 1', 'create 1', 'free', 'free']);
  });

  it.each(['text', 'object', 'status 404', 'http 400'])('gets a client error again: %s', async (how) => {
    const { send } = await start([Orders]);
    const fail = (): Promise<unknown> =>
      send(patternOf('fail'), { how }, KEY('k')).then(
        () => 'an answer',
        (error: unknown) => error,
      );

    const first = await fail();
    expect(first).not.toBe('an answer');
    expect(await fail()).toEqual(first);
    expect(runs).toEqual([how]);
  });

  it.each(['status 503', 'unknown'])('runs again after any other error: %s', async (how) => {
    const { send } = await start([Orders]);
    for (let n = 0; n < 2; n++) await expect(send(patternOf('fail'), { how }, KEY('k'))).rejects.toBeDefined();

    expect(runs).toEqual([how, how]);
  });

  it('finds patterns that are objects the same, and not those of another message', async () => {
    const { send } = await start([Orders]);
    const pattern = { cmd: patternOf('object'), version: 1 } as unknown as string;
    const other = { version: 1, cmd: patternOf('object') } as unknown as string;
    const first = await send(pattern, {}, KEY('k'));

    expect(await send(other, {}, KEY('k'))).toEqual(first);
    expect(runs).toEqual(['object']);
  });

  it('has one record for each handler of an event, which just ends when it comes again', async () => {
    const { emit, send, log } = await start([Orders, Audits]);
    for (let n = 0; n < 2; n++) {
      await emit(patternOf('happened'), { id: 1 }, KEY('k'));
      await vi.waitFor(() => expect(runs).toHaveLength(2));
    }
    // One that comes after them tells that they are through.
    await emit(patternOf('happened'), { id: 2 }, KEY('k2'));
    await vi.waitFor(() => expect(runs).toHaveLength(4));

    expect(runs.slice(0, 2).sort()).toEqual(['first 1', 'second 1']);
    expect(log.errors).toEqual([]);
    expect(await send(patternOf('free'), {})).toEqual([5]);
  });

  it('does not meet the key of a run inside of its handler, whatever that is called', async () => {
    const { send } = await start([Refunds]);
    const first = await send(patternOf('refund'), { id: 1 }, KEY('k'));

    expect([first, await send(patternOf('refund'), { id: 1 }, KEY('k')), runs]).toEqual([[1], [1], ['refund 1']]);
  });

  it('is logged, and hurts nobody, when it is an event that is refused', async () => {
    const { emit, send, log, events } = await start([Orders]);
    await emit(patternOf('required-event'), { id: 1 });
    await emit(patternOf('required-event'), { id: 2 }, KEY('k'));
    await vi.waitFor(() => expect(runs).toEqual(['required 2']));
    await emit(patternOf('required-event'), { id: 3 }, KEY('k'));
    await vi.waitFor(() => expect(log.errors).toHaveLength(2));

    expect(log.errors).toEqual([
      expect.stringContaining('Orders.requiredEvent did not take an event: This call needs an idempotency key'),
      expect.stringContaining('(IDEMPOTENCY_KEY_REUSED)'),
    ]);
    expect(events.filter(({ type }) => type === 'rejected')).toHaveLength(2);
    expect(await send(patternOf('free'), {})).toEqual([2]);
    expect(transport).toBeDefined();
  });
});
