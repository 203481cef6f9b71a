import { randomUUID } from 'node:crypto';
import { Controller } from '@nestjs/common';
import { MessagePattern, Payload, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Signal, Timeout } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { afterEach, expect, it, vi } from 'vitest';
import { describeWith } from '../../tools/services/services.js';
import { fetchQuotes, liveQuotes, scriptCarrier, type Quote } from './carrier.js';
import { closeAll, start } from './start-microservice.js';

describeWith('redis', 'A microservice on Redis', () => {
  afterEach(closeAll);

  // #region testing
  const redis: MicroserviceOptions = { transport: Transport.REDIS, options: { host: '127.0.0.1', port: 6379 } };
  const quotes = `quotes.${randomUUID()}`; // nobody else's, on a server that others use too

  @Controller()
  class QuotesHandlers {
    @MessagePattern(quotes)
    @Timeout('5s')
    getQuotes(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
      return fetchQuotes(orderId, signal);
    }
  }

  it('runs its handler in each instance, and answers with the first that is ready', async () => {
    const carrier = scriptCarrier([{ answer: liveQuotes }, { hang: true }]);
    const { client } = await start(redis, QuotesHandlers);
    await start(redis, QuotesHandlers);

    expect(await lastValueFrom(client.send<unknown>(quotes, '1001'))).toEqual(liveQuotes);
    await vi.waitFor(() => expect(carrier.calls).toHaveLength(2));
  });
  // #endregion
});
