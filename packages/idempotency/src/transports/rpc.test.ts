import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/internal';
import {
  EventPattern,
  KafkaContext,
  MessagePattern,
  MqttContext,
  NatsContext,
  RedisContext,
  RmqContext,
  TcpContext,
} from '@nestjs/microservices';
import { RpcExceptions, PeerPackage } from 'holdfast/nest';
import { describe, expect, it } from 'vitest';
import { binding } from '../binding.js';
import { IdempotencyRejectedError } from '../execution/rejection.js';
import { mergeOptions, readHandlerOptions } from '../settings.js';
import { RpcTransport } from './rpc.js';

const NAME = 'idempotency-key';
const SETTINGS = mergeOptions({});
const peer = new PeerPackage({
  name: '@nestjs/microservices',
  binding,
  bundled: () => import('@nestjs/microservices'),
});
const transport = new RpcTransport({ header: NAME }, new RpcExceptions(peer));

class Orders {
  @MessagePattern({ version: 1, cmd: 'create' }) create(_data: unknown) {}
  @EventPattern('created') created(_data: unknown) {}
}

function call(data: unknown, message: unknown, method: Function = Orders.prototype.create): ExecutionContext {
  const host = new ExecutionContextHost([data, message], Orders, method as () => unknown);
  host.setType('rpc');

  return host;
}

const kafka = (value: unknown): KafkaContext =>
  new KafkaContext([
    { value: null, headers: { [NAME]: value } },
    0,
    'orders',
    undefined,
    undefined,
    undefined,
  ] as never);
const rabbit = (value: unknown): RmqContext =>
  new RmqContext([{ properties: { headers: { [NAME]: value } } }, {}, 'orders']);
const nats = (...values: string[]): NatsContext =>
  new NatsContext(['orders', { [Symbol.iterator]: () => [[NAME, values]][Symbol.iterator]() }]);

const LONG = 'k'.repeat(255);

describe('The key of a message', () => {
  it.each([
    ['Kafka, as bytes', kafka(Buffer.from('k'))],
    ['Kafka, as a text in quotes', kafka('"k"')],
    ['RabbitMQ', rabbit('k')],
    ['NATS', nats('k')],
    ['MQTT 5', new MqttContext(['orders', { properties: { userProperties: { 'Idempotency-Key': 'k' } } }])],
    ['TCP', new TcpContext([undefined as never, 'orders', { [NAME]: 'k' }])],
    ['Redis', new RedisContext(['orders', { [NAME]: 'k' }])],
  ])('is found over %s', (_transport, message) => {
    expect(transport.keyOf(call({}, message), SETTINGS)).toEqual({ kind: 'key', key: 'k' });
  });

  it('may be as long as over HTTP, also as bytes', () => {
    expect(transport.keyOf(call({}, kafka(Buffer.from(LONG))), SETTINGS)).toEqual({ kind: 'key', key: LONG });
    expect(transport.keyOf(call({}, kafka(Buffer.from(`${LONG}k`))), SETTINGS)).toHaveProperty('kind', 'invalid');
  });

  it('is a number as its digits', () => {
    expect(transport.keyOf(call({}, rabbit(42)), SETTINGS)).toEqual({ kind: 'key', key: '42' });
  });

  it.each([
    ['several', nats('a', 'b')],
    ['several, as bytes', kafka([Buffer.from('a'), Buffer.from('b')])],
    ['true', rabbit(true)],
    ['an object', rabbit({ a: 1 })],
    ['bytes that are no text', kafka(Buffer.from([0xff, 0xfe]))],
  ])('is none when there are other things in its place, and the call is refused: %s', (_what, message) => {
    expect(transport.keyOf(call({}, message), SETTINGS)).toHaveProperty('kind', 'invalid');
  });

  it.each([
    ['no headers', new KafkaContext([{ value: null }, 0, 'orders', undefined, undefined, undefined] as never)],
    ['an empty one', rabbit('')],
    ['null', rabbit(null)],
    ['no context', undefined],
    [
      'a context that cannot tell',
      {
        getHeaders() {
          throw new Error('closed');
        },
      },
    ],
  ])('is missing with %s', (_what, message) => {
    expect(transport.keyOf(call({}, message), SETTINGS)).toEqual({ kind: 'missing' });
  });

  it.each([
    ['goes first', 'payload', 'payload'],
    ['does not count when it is empty, as over gRPC', '', 'header'],
    ['does not count when it is null', null, 'header'],
  ])('in the payload %s', (_what, idempotencyKey, key) => {
    expect(transport.keyOf(call({ idempotencyKey }, rabbit('header')), SETTINGS)).toEqual({ kind: 'key', key });
  });

  it.each([
    ['a part of the payload', { payload: 'order.id' }, 'in the payload'],
    ['another header', { header: 'X-Request-Id' }, 'in the header'],
    ['its own place of a map', { http: { header: 'X-Key' }, rpc: { payload: 'order.id' } }, 'in the payload'],
  ])('is %s where its handler says so, and nowhere else', (_place, keyFrom, key) => {
    const settings = mergeOptions(readHandlerOptions({ keyFrom }));
    const headers = { [NAME]: 'usual', 'x-request-id': 'in the header' };
    const message = new RmqContext([{ properties: { headers } }, {}, 'orders']);
    const data = { order: { id: 'in the payload' }, idempotencyKey: 'usual' };

    expect(transport.keyOf(call(data, message), settings)).toEqual({ kind: 'key', key });
    expect(transport.keyOf(call({ idempotencyKey: 'usual' }, rabbit('usual')), settings)).toEqual({ kind: 'missing' });
  });

  it('is what a function of its handler finds', () => {
    const settings = mergeOptions(readHandlerOptions({ keyFrom: (context) => `found over ${context.getType()}` }));

    expect(transport.keyOf(call({}, rabbit('usual')), settings)).toEqual({ kind: 'key', key: 'found over rpc' });
  });

  it('in the payload is its own property', () => {
    const data = Object.create({ idempotencyKey: 'inherited' }) as object;
    expect(transport.keyOf(call(data, undefined), SETTINGS)).toEqual({ kind: 'missing' });
  });
});

describe('What a message is called', () => {
  it.each([
    [
      'TCP, as its client wrote it',
      new TcpContext([undefined as never, '{"cmd":"create","version":1}', undefined as never]),
    ],
    ['a transport that does not tell', {}],
  ])('is the same whatever the order of its properties: %s', (_transport, message) => {
    const [rpc, pattern] = transport.identityOf(call({}, message));
    const [, other] = transport.identityOf(
      call({}, new TcpContext([undefined as never, '{"version":1,"cmd":"create"}', undefined as never])),
    );

    expect([rpc, pattern]).toEqual(['rpc', other]);
  });

  it('is the concrete name where its handler is for several', () => {
    const of = (subject: string): unknown => transport.identityOf(call({}, new NatsContext([subject, undefined])));

    expect(of('orders.1.pay')).toEqual(['rpc', 'orders.1.pay']);
    expect(of('orders.2.pay')).toEqual(['rpc', 'orders.2.pay']);
  });
});

describe('An event that is refused', () => {
  const drops = (
    code:
      | 'IDEMPOTENCY_KEY_REUSED'
      | 'IDEMPOTENCY_KEY_REQUIRED'
      | 'IDEMPOTENCY_KEY_IN_USE'
      | 'IDEMPOTENCY_STORE_UNAVAILABLE',
    method: Function,
  ) => transport.dropsRejected(new IdempotencyRejectedError(code, ''), call({}, {}, method));

  it.each([
    ['IDEMPOTENCY_KEY_REQUIRED', true],
    ['IDEMPOTENCY_KEY_REUSED', true],
    ['IDEMPOTENCY_KEY_IN_USE', false],
    ['IDEMPOTENCY_STORE_UNAVAILABLE', false],
  ] as const)('ends where it would be refused again, so that no broker delivers it for ever: %s', (code, dropped) => {
    expect(drops(code, Orders.prototype.created)).toBe(dropped);
    expect(drops(code, Orders.prototype.create)).toBe(false);
  });
});

describe('What a handler of messages returned', () => {
  it('is kept with the status of a success, and no headers', () => {
    const outcome = { kind: 'value', value: { id: 1 } } as const;

    expect(transport.store(outcome, call({}, {}))).toEqual({ status: 200, headers: {}, body: { id: 1 } });
  });
});

describe('What a scope of messages is made from', () => {
  it('is the payload', () => {
    const data = { tenant: 'a' };

    expect(transport.scopeSourceOf(call(data, rabbit('k')))).toBe(data);
  });
});

describe('Who is signed in', () => {
  it('is found where guards leave it', () => {
    expect(transport.userOf(call({}, Object.assign(rabbit('k'), { user: 'a' })))).toBe('a');
    expect(transport.userOf(call({}, undefined))).toBeUndefined();
  });
});
