import { randomUUID } from 'node:crypto';
import { Controller } from '@nestjs/common';
import { MessagePattern, MqttRecordBuilder, Payload, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Signal, Timeout } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { afterEach, expect, it } from 'vitest';
import { describeWith } from '../../tools/services/services.js';
import { fetchQuotes, scriptCarrier, type Quote } from './carrier.js';
import { closeAll, start } from './start-microservice.js';

describeWith('mosquitto', 'A microservice on MQTT', () => {
  afterEach(closeAll);

  // #region testing
  const mqtt: MicroserviceOptions = {
    transport: Transport.MQTT,
    options: { url: 'mqtt://127.0.0.1:1883', protocolVersion: 5 }, // by default it is 4, which has no user properties
  };
  const quotes = `quotes/${randomUUID()}`;

  @Controller()
  class QuotesHandlers {
    @MessagePattern(quotes)
    @Timeout('5s')
    getQuotes(@Payload() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
      return fetchQuotes(orderId, signal);
    }
  }

  it('has no more time than a user property says', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const { client } = await start(mqtt, QuotesHandlers, { deadlineHeaders: ['x-request-timeout-ms'] });
    const properties = { userProperties: { 'x-request-timeout-ms': '50' } };
    const message = new MqttRecordBuilder('1001').setProperties(properties).setQoS(1).build();

    await expect(lastValueFrom(client.send<unknown>(quotes, message))).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled']);
  });
  // #endregion
});
