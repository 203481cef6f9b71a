import { randomUUID } from 'node:crypto';
import { Controller } from '@nestjs/common';
import {
  Ctx,
  EventPattern,
  Payload,
  Transport,
  type MicroserviceOptions,
  type RmqContext,
} from '@nestjs/microservices';
import { Retry, Signal, Timeout, TimeoutPolicy } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { afterEach, expect, it, vi } from 'vitest';
import { describeWith } from '../../tools/services/services.js';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';
import { closeAll, start } from './start-microservice.js';

// #region acknowledge
interface Channel {
  ack(message: unknown): void;
}

@Controller()
class OrderEvents {
  @EventPattern<string>('orders.placed')
  @Timeout('5s')
  @Retry({ attempts: 3, backoff: { delay: '10ms' } })
  async onPlaced(@Payload() orderId: string, @Ctx() context: RmqContext, @Signal() signal: AbortSignal): Promise<void> {
    await fetchQuotes(orderId, signal);
    // Last, and once: an attempt that fails before this line leaves the delivery alone.
    (context.getChannelRef() as Channel).ack(context.getMessage());
  }
}
// #endregion

it('is acknowledged by no attempt that is given up', async () => {
  scriptCarrier([{ hang: true }]);
  const ack = vi.fn();
  const context = { getChannelRef: () => ({ ack }), getMessage: () => 'delivery' };
  const attempt = new TimeoutPolicy('10ms').execute(({ signal }) =>
    new OrderEvents().onPlaced('1001', context as never, signal),
  );

  await expect(attempt).rejects.toMatchObject({ code: 'TIMEOUT' });
  expect(ack).not.toHaveBeenCalled();
});

describeWith('rabbitmq', 'A microservice on RabbitMQ', () => {
  afterEach(closeAll);

  // #region testing
  const rabbitmq: MicroserviceOptions = {
    transport: Transport.RMQ,
    options: {
      urls: ['amqp://guest:guest@127.0.0.1:5672'],
      queue: `orders.${randomUUID()}`,
      queueOptions: { durable: false, expires: 60_000 }, // the broker removes what a test leaves behind
      noAck: false,
    },
  };

  it('has a delivery again that no attempt has acknowledged', async () => {
    const carrier = scriptCarrier([{ fail: new Error('down') }]);
    const first = await start(rabbitmq, OrderEvents);
    await lastValueFrom(first.client.emit('orders.placed', '1001'), { defaultValue: undefined });
    await vi.waitFor(() => expect(carrier.calls).toHaveLength(3));
    await first.close();

    const again = scriptCarrier([{ fail: new Error('down') }, { answer: liveQuotes }]);
    await start(rabbitmq, OrderEvents);
    await vi.waitFor(() => expect(again.calls.map(({ state }) => state)).toEqual(['failed', 'answered']));
  });
  // #endregion
});
