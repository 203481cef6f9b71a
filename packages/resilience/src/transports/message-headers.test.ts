import { KafkaContext, MqttContext, NatsContext, RedisContext, RmqContext, TcpContext } from '@nestjs/microservices';
import { describe, expect, it } from 'vitest';
import { messageHeader } from 'holdfast/nest';

const NAME = 'x-request-timeout-ms';

const kafka = (headers: unknown): KafkaContext =>
  new KafkaContext([{ value: null, headers }, 0, 'quotes', undefined, undefined, undefined] as never);
const rabbit = (headers: unknown): RmqContext => new RmqContext([{ properties: { headers } }, {}, 'quotes']);
const mqtt = (userProperties: unknown): MqttContext => new MqttContext(['quotes', { properties: { userProperties } }]);

/** As `MsgHdrs` of NATS iterates. */
const nats = (headers: Readonly<Record<string, string[]>>): NatsContext =>
  new NatsContext(['quotes', { [Symbol.iterator]: () => Object.entries(headers)[Symbol.iterator]() }]);

describe('The headers of a message', () => {
  it.each([
    ['Kafka, as bytes', kafka({ [NAME]: Buffer.from('300') })],
    ['Kafka, as text', kafka({ [NAME]: '300' })],
    ['RabbitMQ', rabbit({ [NAME]: '300' })],
    ['RabbitMQ, as a number', rabbit({ [NAME]: 300 })],
    ['MQTT 5', mqtt({ [NAME]: '300' })],
    ['NATS', nats({ [NAME]: ['300'] })],
    ['TCP', new TcpContext([undefined as never, 'quotes', { [NAME]: '300' }])],
    ['Redis', new RedisContext(['quotes', { [NAME]: '300' }])],
    ['any of them, in whatever case', kafka({ 'X-Request-Timeout-MS': Buffer.from('300') })],
  ])('are found over %s', (_transport, message) => {
    expect(messageHeader(message, NAME)).toBe('300');
  });

  it.each([
    ['in a list', kafka({ [NAME]: [Buffer.from('100'), Buffer.from('200')] })],
    ['in two cases', rabbit({ [NAME]: '100', 'X-Request-Timeout-Ms': '200' })],
    ['in a list of NATS', nats({ [NAME]: ['100', '200'] })],
  ])('are told as a list when there are several: %s', (_how, message) => {
    expect(messageHeader(message, NAME)).toEqual(['100', '200']);
  });

  it.each([
    ['Kafka without headers', kafka(undefined)],
    ['RabbitMQ without headers', rabbit(undefined)],
    ['RabbitMQ without properties', new RmqContext([{}, {}, 'quotes'])],
    ['MQTT 3', new MqttContext(['quotes', {}])],
    ['NATS without headers', new NatsContext(['quotes', undefined])],
    ['TCP without metadata', new TcpContext([undefined as never, 'quotes'])],
    ['TCP with metadata that is no object', new TcpContext([undefined as never, 'quotes', '300' as never])],
    ['TCP with metadata that is a list', new TcpContext([undefined as never, 'quotes', [[NAME, '300']] as never])],
    ['a transport of one’s own', {}],
    ['no context', undefined],
    ['null', null],
  ])('are not there: %s', (_how, message) => {
    expect(messageHeader(message, NAME)).toBeUndefined();
  });

  it.each([
    ['an object', {}],
    ['null', null],
    ['true', true],
    ['an enormous list', Array.from({ length: 500_000 }, () => '1')],
    ['a list of lists', [['300']]],
    ['a megabyte', Buffer.alloc(1_000_000, '1')],
    ['bytes that are no text', Buffer.from([0xff, 0xfe])],
  ])('may hold anything: %s is no value in a header’s form', (_what, value) => {
    const read = [messageHeader(kafka({ [NAME]: value }), NAME)].flat();

    expect(read.length === 1 && /^[0-9]+$/.test(read[0] ?? '')).toBe(false);
  });

  it('are no property that an object has anyway', () => {
    expect(messageHeader(rabbit({}), 'constructor')).toBeUndefined();
    expect(messageHeader(rabbit(JSON.parse(`{"__proto__": {"${NAME}": "300"}}`)), NAME)).toBeUndefined();
  });
});
