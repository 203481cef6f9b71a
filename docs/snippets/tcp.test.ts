import { Controller } from '@nestjs/common';
import { MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { Retry, Signal, Timeout } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { afterEach, expect, it, vi } from 'vitest';
import { fetchQuotes, scriptCarrier, type Quote } from './carrier.js';
import { closeAll, start } from './start-microservice.js';

afterEach(closeAll);

// #region testing
@Controller()
class QuotesHandlers {
  @MessagePattern('quotes')
  @Timeout('5s')
  @Retry({ attempts: 2 }) // what may be repeated may be given up
  getQuotes(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }
}

it('ends with the connection of its client', async () => {
  const carrier = scriptCarrier([{ hang: true }]);
  const { client } = await start({ transport: Transport.TCP, options: { port: 0 } }, QuotesHandlers);
  const answer = lastValueFrom(client.send<unknown>('quotes', '1001')).catch((error: unknown) => error);
  await vi.waitFor(() => expect(carrier.calls).toHaveLength(1));
  client.close();

  expect(await answer).toEqual(new Error('Connection closed'));
  await vi.waitFor(() => expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled']));
});
// #endregion
