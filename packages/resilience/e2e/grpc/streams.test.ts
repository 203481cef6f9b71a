import { Controller } from '@nestjs/common';
import { GrpcMethod, GrpcStreamMethod } from '@nestjs/microservices';
import { Bulkhead, CircuitOpenError, Retry, Timeout } from '@nestjs/resilience';
import { concat, map, of, Subject, throwError, toArray, type Observable } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { isPending, turns, until } from '../fixtures/backend.js';
import { closeGrpcAfterEach, startGrpc, type Text } from '../fixtures/grpc.js';

closeGrpcAfterEach();

const text = (value: string): Text => ({ text: value });
const TIMEOUT = { code: 'TIMEOUT' };

/** What each call of the handler answers with. */
let feeds: Subject<Text>[];
/** Messages that the handlers got. */
let received: string[];

beforeEach(() => {
  feeds = [];
  received = [];
});

function feed(): Observable<Text> {
  const subject = new Subject<Text>();
  feeds.push(subject);
  return subject;
}

@Controller()
class Streams {
  @GrpcMethod('Calls', 'ServerStream')
  @Timeout(100)
  @Retry({ attempts: 2, backoff: { delay: 10, jitter: 'none' } })
  @Bulkhead({ name: 'positions', maxConcurrent: 1 })
  serverStream() {
    return feed();
  }

  @GrpcStreamMethod('Calls', 'Bidi')
  @Timeout(100)
  @Bulkhead({ name: 'carrier', maxConcurrent: 1, maxQueue: 1 })
  bidi(messages: Observable<Text>) {
    return messages.pipe(map((message) => (received.push(message.text), text(message.text.toUpperCase()))));
  }

  @GrpcStreamMethod('Calls', 'ClientStream')
  @Timeout(100)
  @Bulkhead({ name: 'carrier', maxConcurrent: 1, maxQueue: 1 })
  clientStream(messages: Observable<Text>) {
    return messages.pipe(
      toArray(),
      map((all) => text(all.map((message) => message.text).join('+'))),
    );
  }
}

const start = () => startGrpc({ controllers: [Streams] });

describe('a server stream', () => {
  it('leaves value by value, and holds its slot until it has ended', async () => {
    const app = await start();
    const call = app.open('serverStream');
    await until(() => feeds.length === 1);
    feeds[0]?.next(text('Hamburg'));
    await until(() => call.values.length === 1);
    expect(await app.call('serverStream')).toMatchObject({ code: 8, payload: { code: 'BULKHEAD_FULL' } });
    expect(app.resilience.bulkhead('positions').active).toBe(1);
    feeds[0]?.next(text('Bremen'));
    await until(() => call.values.length === 2);
    feeds[0]?.complete();

    expect(await call.answer).toMatchObject({ values: ['Hamburg', 'Bremen'], code: 0 });
    expect(app.resilience.bulkhead('positions').active).toBe(0);
  });

  it('is limited until its first value only', async () => {
    const app = await start();
    freezeTime();
    const call = app.open('serverStream');
    await until(() => feeds.length === 1);
    await vi.advanceTimersByTimeAsync(99);
    feeds[0]?.next(text('Hamburg'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await isPending(call.answer)).toBe(true);
    feeds[0]?.complete();

    expect(await call.answer).toMatchObject({ values: ['Hamburg'], code: 0 });
  });

  it('whose first value is late times out, is begun anew, and times out for good', async () => {
    const app = await start();
    freezeTime();
    const call = app.open('serverStream');
    await until(() => feeds.length === 1);
    await vi.advanceTimersByTimeAsync(100);
    expect(feeds[0]?.observed).toBe(false);
    await vi.advanceTimersByTimeAsync(10);
    expect(feeds).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(100);

    expect(await call.answer).toMatchObject({ values: [], code: 4, payload: TIMEOUT });
    expect(feeds.map(({ observed }) => observed)).toEqual([false, false]);
  });

  it('that fails before its first value is begun anew', async () => {
    const app = await start();
    const call = app.open('serverStream');
    await until(() => feeds.length === 1);
    feeds[0]?.error(new Error('down'));
    await until(() => feeds.length === 2);
    feeds[1]?.next(text('Hamburg'));
    feeds[1]?.complete();

    expect(await call.answer).toMatchObject({ values: ['Hamburg'], code: 0 });
  });

  it('that fails after it is not, and ends with the error', async () => {
    const app = await start();
    const call = app.open('serverStream');
    await until(() => feeds.length === 1);
    feeds[0]?.next(text('Hamburg'));
    await until(() => call.values.length === 1);
    feeds[0]?.error(new Error('down'));

    expect(await call.answer).toMatchObject({ values: ['Hamburg'], code: 2, details: 'Internal server error' });
    await turns();
    expect(feeds).toHaveLength(1);
    expect(app.log.errors).toEqual(['Error: down']);
  });

  it('ends with our status and payload where a policy inside fails after values have left', async () => {
    @Controller()
    class Broken {
      @GrpcMethod('Calls', 'ServerStream')
      @Timeout(100)
      serverStream() {
        return concat(
          of(text('Hamburg')),
          throwError(() => new CircuitOpenError('carrier', 2_000)),
        );
      }
    }
    const app = await startGrpc({ controllers: [Broken] });

    expect(await app.call('serverStream')).toMatchObject({
      values: ['Hamburg'],
      code: 14,
      payload: { code: 'CIRCUIT_OPEN', retryAfter: 2 },
    });
  });
});

describe('a request stream', () => {
  it('is handed to the handler as it comes, and answered as it comes', async () => {
    const app = await start();
    const call = app.open('bidi', { messages: ['one'], ends: false });
    await until(() => call.values.length === 1);
    call.send('two');
    await until(() => call.values.length === 2);
    call.end();

    expect(await call.answer).toMatchObject({ values: ['ONE', 'TWO'], code: 0 });
    expect(app.resilience.bulkhead('carrier').active).toBe(0);
  });

  it('is limited until the first answer only, where answers stream', async () => {
    const app = await start();
    freezeTime();
    const call = app.open('bidi', { messages: [], ends: false });
    await until(() => app.resilience.bulkhead('carrier').active === 1);
    await vi.advanceTimersByTimeAsync(99);
    call.send('one');
    await until(() => call.values.length === 1);
    await vi.advanceTimersByTimeAsync(10_000);
    call.send('two');
    call.end();

    expect(await call.answer).toMatchObject({ values: ['ONE', 'TWO'], code: 0 });
  });

  it('that is not read to its end in time times out, where there is one answer', async () => {
    const app = await start();
    freezeTime();
    const call = app.open('clientStream', { messages: ['one', 'two'], ends: false });
    await until(() => app.resilience.bulkhead('carrier').active === 1);
    await vi.advanceTimersByTimeAsync(100);

    expect(await call.answer).toMatchObject({ values: [], code: 4, payload: TIMEOUT });
    expect(app.resilience.bulkhead('carrier').active).toBe(0);
  });

  it.each(['bidi', 'clientStream'] as const)('loses nothing while it waits for a slot (%s)', async (method) => {
    const app = await start();
    const first = app.open(method, { messages: ['first'], ends: false });
    await until(() => app.resilience.bulkhead('carrier').active === 1);
    const second = app.open(method, { messages: ['one', 'two', 'three'] });
    await until(() => app.resilience.bulkhead('carrier').queued === 1);
    await turns();
    first.end();

    expect(await first.answer).toMatchObject({ code: 0 });
    const values = method === 'bidi' ? ['ONE', 'TWO', 'THREE'] : ['one+two+three'];
    expect(await second.answer).toMatchObject({ values, code: 0 });
  });
});
