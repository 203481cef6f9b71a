import { randomUUID } from 'node:crypto';
import { headers } from '@nats-io/transport-node';
import { Controller } from '@nestjs/common';
import { MessagePattern, NatsRecordBuilder, Payload, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Signal, Timeout } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { afterEach, expect, it } from 'vitest';
import { describeWith } from '../../tools/services/services.js';
import { fetchQuotes, liveQuotes, scriptCarrier, type Quote } from './carrier.js';
import { closeAll, start } from './start-microservice.js';

describeWith('nats', 'A microservice on NATS', () => {
  afterEach(closeAll);

  // #region testing
  const nats: MicroserviceOptions = {
    transport: Transport.NATS,
    options: { servers: ['nats://127.0.0.1:4222'], queue: 'quotes' }, // one instance of the group has each message
  };
  const quotes = `quotes.${randomUUID()}`;

  @Controller()
  class QuotesHandlers {
    @MessagePattern(quotes)
    @Timeout('5s')
    getQuotes(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
      return fetchQuotes(orderId, signal);
    }
  }

  it('has no more time than the message says', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const { client } = await start(nats, QuotesHandlers, { deadlineHeaders: ['x-request-timeout-ms'] });
    const waits = headers();
    waits.set('x-request-timeout-ms', '50');
    const message = new NatsRecordBuilder('1001').setHeaders(waits).build();

    await expect(lastValueFrom(client.send<unknown>(quotes, message))).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled']);
  });
  // #endregion

  it('shares its messages with the other instances of its group', async () => {
    const carrier = scriptCarrier([{ answer: liveQuotes }]);
    const { client } = await start(nats, QuotesHandlers);
    await start(nats, QuotesHandlers);

    for (let n = 1; n <= 3; n++) await lastValueFrom(client.send<unknown>(quotes, '1001'));
    expect(carrier.calls).toHaveLength(3);
  });
});
