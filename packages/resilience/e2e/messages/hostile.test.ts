import { Controller } from '@nestjs/common';
import { MessagePattern, Payload, RpcException } from '@nestjs/microservices';
import { Bulkhead, CircuitBreaker, Retry, Signal, Timeout } from '@nestjs/resilience';
import { EMPTY, NEVER, of } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { Backend, until } from '../fixtures/backend.js';
import { dataWith, type HeaderValues } from '../fixtures/message-headers.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

/**
 * What comes from outside may be anything, and so may what handlers throw and return: the message is answered or refused
 * as in Nest, the next one is handled, and what was held is given back.
 */

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.answer('fine'));
});

const HEADER = 'x-request-timeout-ms';

const refuse = (): never => {
  throw new Error('not to be read');
};
const closed = (): object =>
  new Proxy(new Error('closed'), { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse });

const THROWN: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a number': () => 5,
  'a symbol': () => Symbol('down'),
  'an exception of undefined': () => new RpcException(undefined as never),
  'an exception of null': () => new RpcException(null as never),
  'an exception of a number': () => new RpcException(7 as never),
  'an exception of a list': () => new RpcException([1, 2]),
  'an exception whose status throws': () =>
    new RpcException(Object.defineProperty({ message: 'down' }, 'status', { get: refuse })),
};

const RETURNED: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'an empty string': () => '',
  zero: () => 0,
  'an empty Observable': () => EMPTY,
  'a promise of an Observable': () => Promise.resolve(of('ground', 'air')),
  'a thenable that throws': () => Object.defineProperty({}, 'then', { get: refuse }),
};

@Controller()
class HostileHandlers {
  @MessagePattern(patternOf('asked'))
  @Timeout('5s')
  @Bulkhead({ name: 'hostile', maxConcurrent: 1 })
  asked(@Payload() _data: unknown, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('throwing'))
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @CircuitBreaker({ name: 'hostile', minimumCalls: 1_000, slidingWindow: { type: 'count', size: 1_000 } })
  @Timeout('5s')
  @Bulkhead({ name: 'hostile', maxConcurrent: 1 })
  throwing(@Payload() kind: string) {
    throw THROWN[kind]?.();
  }

  @MessagePattern(patternOf('throwing-closed'))
  @Timeout('5s')
  @Bulkhead({ name: 'hostile', maxConcurrent: 1 })
  throwingClosed() {
    void backend.call();
    throw closed();
  }

  @MessagePattern(patternOf('returning'))
  @Timeout('5s')
  @Bulkhead({ name: 'hostile', maxConcurrent: 1 })
  returning(@Payload() kind: string) {
    return RETURNED[kind]?.();
  }

  @MessagePattern(patternOf('never'))
  @Timeout('20ms')
  @Bulkhead({ name: 'hostile', maxConcurrent: 1 })
  never() {
    return NEVER;
  }
}

const LONG = '9'.repeat(100_000);
const MANY = Object.fromEntries(Array.from({ length: 2_000 }, (_, nth) => [`x-header-${nth}`, '1']));

onTransports(EVERY_TRANSPORT, 'A microservice', (start, { name }) => {
  const startHostile = async () => {
    const service = await start({ controllers: [HostileHandlers], options: { deadlineHeaders: [HEADER] } });
    const freed = () => until(() => service.resilience.bulkhead('hostile').active === 0);
    return { ...service, freed };
  };

  /** Those of NATS are texts, and their names are tokens. */
  const anything: readonly (readonly [string, unknown])[] =
    name === 'NATS'
      ? []
      : [
          ['names that objects have anyway', { constructor: '1', toString: '1', [HEADER]: '__proto__' }],
          ['an own __proto__', JSON.parse(`{"__proto__": {"${HEADER}": "1"}}`)],
        ];
  /** Where Nest’s own packet carries them, they are any JSON. */
  const json: readonly (readonly [string, unknown])[] =
    name === 'TCP' || name === 'Redis'
      ? [
          ['an object', { [HEADER]: { toString: 'no function' } }],
          ['a tree', { [HEADER]: [[[[['1']]]]] }],
          ['null', { [HEADER]: null }],
          ['no headers but a text', LONG],
          ['no headers but a list', [[HEADER, '1']]],
          ['no headers but a number', 1],
          ['a length', { length: 1e9, [HEADER]: 'x' }],
        ]
      : [];

  const headersToSend: readonly (readonly [string, unknown])[] = [
    ['a long text', { [HEADER]: LONG.slice(0, 2_000) }],
    [
      'many of them',
      name === 'NATS' || name === 'MQTT' ? Object.fromEntries(Object.entries(MANY).slice(0, 100)) : MANY,
    ],
    ['a thousand times the same', { [HEADER]: new Array<string>(1_000).fill('1') }],
    ...anything,
    ...json,
  ];

  it.each(headersToSend)('is not harmed by headers, and none of these is a deadline: %s', async (_what, headers) => {
    const { send, client, log } = await startHostile();

    expect(
      await send(patternOf('asked'), dataWith(name, { client, data: {}, headers: headers as HeaderValues })),
    ).toEqual(['fine']);
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('answers whatever a handler throws, repeats it, counts it and holds nothing', async () => {
    const { send, resilience, freed } = await startHostile();
    for (const kind of Object.keys(THROWN)) {
      await send(patternOf('throwing'), kind).then(
        () => undefined,
        () => undefined,
      );
      await freed();
    }

    expect(resilience.circuitBreaker('hostile').stats).toMatchObject({ total: 18, failures: 18 });
    expect(await send(patternOf('asked'))).toEqual(['fine']);
  });

  it('is not brought down by an error that cannot be looked at', async () => {
    const { send, freed } = await startHostile();
    void send(patternOf('throwing-closed'));
    await backend.reached(1);
    await freed();

    expect(await send(patternOf('asked'))).toEqual(['fine']);
  });

  it('answers whatever a handler returns', async () => {
    const { send, freed } = await startHostile();
    const answers: unknown[] = [];
    for (const kind of Object.keys(RETURNED)) {
      answers.push(await send(patternOf('returning'), kind).catch(() => 'rejected'));
      await freed();
    }

    expect(answers.at(-2)).toEqual(['ground', 'air']);
    expect(await send(patternOf('asked'))).toEqual(['fine']);
  });

  it('limits a handler that never answers', async () => {
    const { send, freed } = await startHostile();

    await expect(send(patternOf('never'))).rejects.toMatchObject({ code: 'TIMEOUT', statusCode: 504 });
    await freed();
  });
});
