import { Controller, Logger } from '@nestjs/common';
import { ClientProxyFactory, MessagePattern, Payload, Transport, type RmqOptions } from '@nestjs/microservices';
import { boundedClient, ResilienceTimeoutError, TimeoutPolicy } from '@nestjs/resilience';
import { lastValueFrom } from 'rxjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CapturedLog } from '../fixtures/application.js';
import { afterTest, cleanUp, patternOf, startMicroservice, TRANSPORTS } from '../fixtures/microservice.js';
import { describeWith } from '../../../../tools/services/services.js';

let executed: unknown[] = [];

beforeEach(() => {
  executed = [];
  // The client connects before there is an application whose log would be captured.
  Logger.overrideLogger(new CapturedLog());
});

@Controller()
class Warehouse {
  @MessagePattern(patternOf('stock'))
  stock(@Payload() id: string) {
    executed.push(id);
    return id;
  }
}

/** RabbitMQ on a queue of its own, whose messages may wait for so long. */
function rabbitmq(messageTtl?: number): RmqOptions {
  const { options } = TRANSPORTS.RabbitMQ.options() as RmqOptions;
  const queueOptions = { ...options?.queueOptions, ...(messageTtl !== undefined && { messageTtl }) };

  return { transport: Transport.RMQ, options: { ...options, queueOptions } };
}

describeWith('rabbitmq', 'A request that is given up while its microservice is away', () => {
  afterEach(cleanUp);

  it.each([
    ['is executed when that is back', undefined, ['given up', 'later']],
    ['is dropped by a queue with a time to live', 20, ['later']],
  ])('%s', async (_title, messageTtl, expected) => {
    const served = rabbitmq(messageTtl);
    const client = ClientProxyFactory.create(served);
    afterTest(() => client.close());
    await client.connect();
    const answer = new TimeoutPolicy(100).execute(() =>
      lastValueFrom(boundedClient(client).send<unknown>(patternOf('stock'), 'given up')),
    );
    await expect(answer).rejects.toBeInstanceOf(ResilienceTimeoutError);

    const { send } = await startMicroservice({ name: 'RabbitMQ', options: () => served }, { controllers: [Warehouse] });
    expect(await send(patternOf('stock'), 'later')).toEqual(['later']);
    expect(executed).toEqual(expected);
  });
});
