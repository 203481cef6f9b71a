import { Controller } from '@nestjs/common';
import { EventPattern, Payload, ServerKafka } from '@nestjs/microservices';
import { ResilienceModule, Retry, Signal, Timeout } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { expect, it } from 'vitest';
import { fetchQuotes, liveQuotes, scriptCarrier } from './carrier.js';

// #region testing
@Controller()
class OrderEvents {
  @EventPattern<string>('orders.placed')
  @Timeout('5s')
  @Retry({ attempts: 2, backoff: { delay: '10ms' } })
  async onPlaced(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<void> {
    await fetchQuotes(orderId, signal);
  }
}

/** Nest's own server, without a broker: the test hands it what a consumer would. */
class HandedKafka extends ServerKafka {
  override async listen(callback: () => void): Promise<void> {
    callback();
  }

  deliver(topic: string, value: string): Promise<unknown> {
    const message = { key: null, value: Buffer.from(value), timestamp: '0', attributes: 0, offset: '0', headers: {} };

    return this.handleMessage({ topic, partition: 0, message, heartbeat: async () => {}, pause: () => () => {} });
  }
}

async function deliver(): Promise<unknown> {
  const kafka = new HandedKafka({});
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot()],
    controllers: [OrderEvents],
  }).compile();
  const app = moduleRef.createNestMicroservice({ strategy: kafka, logger: false });
  await app.listen();

  return kafka.deliver('orders.placed', '1001').finally(() => app.close());
}

it('fails the delivery when the last attempt has failed, so that it comes again', async () => {
  const carrier = scriptCarrier([{ fail: new Error('down') }]);

  await expect(deliver()).rejects.toMatchObject({ status: 'error' });
  expect(carrier.calls).toHaveLength(2);
});

it('has dealt with a delivery when an attempt succeeds', async () => {
  const carrier = scriptCarrier([{ fail: new Error('down') }, { answer: liveQuotes }]);

  await deliver();
  expect(carrier.calls).toHaveLength(2);
});
// #endregion
