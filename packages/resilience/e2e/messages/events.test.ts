import { Controller } from '@nestjs/common';
import { Ctx, EventPattern, Payload, type RmqContext } from '@nestjs/microservices';
import { Retry, Signal, Timeout } from '@nestjs/resilience';
import { defer, throwError } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { Backend, DependencyError, turns, until } from '../fixtures/backend.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

let backend: Backend;
let subscriptions = 0;
const down = new DependencyError(503);

beforeEach(() => {
  backend = new Backend();
  subscriptions = 0;
});

@Controller()
class OrderEvents {
  @EventPattern<string>(patternOf('plain'))
  @Timeout('5s')
  plain(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @EventPattern<string>(patternOf('retried'))
  @Timeout('5s')
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  retried(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @EventPattern<string>(patternOf('limited'))
  @Timeout(20)
  limited(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @EventPattern<string>(patternOf('streamed'))
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  streamed() {
    return defer(() => {
      subscriptions++;
      return throwError(() => down);
    });
  }
}

onTransports(EVERY_TRANSPORT, 'An event', (start) => {
  const startEvents = () => start({ controllers: [OrderEvents] });

  it('is handled again by the handler’s own @Retry(), until that succeeds', async () => {
    backend.script((call, nth) => (nth < 3 ? call.fail(down) : call.answer('done')));
    const { emit, log } = await startEvents();
    await emit(patternOf('retried'));

    await until(() => backend.states.join() === 'failed,failed,answered');
    await turns();
    expect(backend.calls).toHaveLength(3);
    expect(log.errors).toEqual([]);
  });

  it('is handled once without', async () => {
    backend.script((call) => call.fail(down));
    const { emit, log } = await startEvents();
    await emit(patternOf('plain'));

    await until(() => log.errors.length === 1);
    await turns();
    expect(backend.calls).toHaveLength(1);
  });

  it.each(['retried', 'streamed'])(
    'fails unseen but for one line of log, and the next is handled (%s)',
    async (name) => {
      backend.script((call) => call.fail(down));
      const { emit, log } = await startEvents();
      await emit(patternOf(name));

      await until(() => log.errors.length === 1);
      await turns();
      expect(log.errors).toEqual([String(down)]);
      expect(name === 'retried' ? backend.calls.length : subscriptions).toBe(3);

      backend.script((call) => call.answer('done'));
      await emit(patternOf('plain'));
      await until(() => backend.states.at(-1) === 'answered');
    },
  );

  it('ends at its limit like a message', async () => {
    const { emit, log, events } = await startEvents();
    await emit(patternOf('limited'));

    await until(() => backend.states[0] === 'cancelled');
    await until(() => log.errors.length === 1);
    expect(log.errors[0]).toContain('The operation timed out');
    expect(events.map(({ type }) => type)).toEqual(['timeout']);
  });
});

/** The handler's context decides about the delivery, once, whatever the number of attempts. */
@Controller()
class AcknowledgingEvents {
  @EventPattern<string>(patternOf('acknowledged'))
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  async acknowledged(@Payload() _data: unknown, @Ctx() context: RmqContext) {
    await backend.call();
    const channel = context.getChannelRef() as Channel;
    channel.ack(context.getMessage());
  }

  @EventPattern<string>(patternOf('refused'))
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  async refused(@Payload() _data: unknown, @Ctx() context: RmqContext) {
    try {
      await backend.call();
    } catch (error) {
      const channel = context.getChannelRef() as Channel;
      if (backend.calls.length === 2) channel.nack(context.getMessage(), false, false);
      throw error;
    }
  }
}

interface Channel {
  ack(message: unknown): void;
  nack(message: unknown, all: boolean, requeue: boolean): void;
}

onTransports(['RabbitMQ'], 'A delivery that the handler acknowledges itself', (start) => {
  const startEvents = () =>
    start({ controllers: [AcknowledgingEvents], serverOptions: { noAck: false, prefetchCount: 1 } });

  it('is acknowledged once, after the attempt that succeeds, and the next one comes', async () => {
    backend.script((call, nth) => (nth < 3 ? call.fail(down) : call.answer('done')));
    const { emit, log } = await startEvents();
    await emit(patternOf('acknowledged'));
    await until(() => backend.calls.length === 3);
    // With a prefetch of one the broker sends the next only when the first is acknowledged; it would close the channel
    // of whoever acknowledges twice.
    await emit(patternOf('acknowledged'));
    await until(() => backend.calls.length === 4);
    await emit(patternOf('acknowledged'));
    await until(() => backend.calls.length === 5);

    expect(log.errors).toEqual([]);
  });

  it('is refused once, by the last attempt', async () => {
    backend.script((call, nth) => (nth < 3 ? call.fail(down) : call.answer('done')));
    const { emit, log } = await startEvents();
    await emit(patternOf('refused'));
    await until(() => log.errors.length === 1);
    await emit(patternOf('acknowledged'));
    await until(() => backend.calls.length === 3);
    await emit(patternOf('acknowledged'));
    await until(() => backend.calls.length === 4);

    expect(log.errors).toEqual([String(down)]);
  });
});
