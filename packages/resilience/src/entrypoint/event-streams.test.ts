import type { ExecutionContext } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import { UNKNOWN_TRANSPORT, type Transport } from '../transports/transport.js';
import { AwaitedEvents, isAsyncIterable, OpenedEvents, OutgoingEvents } from './event-streams.js';

const down = new Error('down');
const over = { done: true, value: undefined };
const event = (value: unknown) => ({ done: false, value });

function iterable(next: () => unknown, more: Partial<AsyncIterator<unknown>> = {}): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => ({ next, ...more }) as AsyncIterator<unknown> };
}

describe('A stream that was opened', () => {
  it('is told once that nobody reads it any more', async () => {
    const onReturn = vi.fn(async () => ({ done: true as const, value: 'last words' }));
    const opened = new OpenedEvents(iterable(vi.fn(), { return: onReturn }));

    expect(await Promise.all([opened.close(), opened.close()])).toEqual(
      Array(2).fill({ ...over, value: 'last words' }),
    );
    expect(onReturn).toHaveBeenCalledOnce();
  });

  it('need not care', async () => {
    expect(await new OpenedEvents(iterable(vi.fn())).close()).toEqual(over);
  });

  it('may throw at once, which is a failure like others', async () => {
    const thrown = () => {
      throw down;
    };
    const opened = new OpenedEvents(iterable(thrown, { return: thrown }));

    await expect(opened.next()).rejects.toBe(down);
    await expect(opened.close()).rejects.toBe(down);
  });
});

describe('A stream that is waited for', () => {
  it('has the event that was read, and those after it, in their order', async () => {
    const awaited = new AwaitedEvents(vi.fn());
    const reading = [awaited.next(), awaited.next()];
    awaited.begin(new OpenedEvents(iterable(async () => event(2))), { done: false, value: 1 });

    expect(await Promise.all(reading)).toEqual([event(1), event(2)]);
    expect(await awaited.next()).toEqual(event(2));
  });

  it('fails once, and is over then', async () => {
    const awaited = new AwaitedEvents(vi.fn());
    awaited.fail(down);

    await expect(awaited.next()).rejects.toBe(down);
    expect(await awaited.next()).toEqual(over);
  });

  it('that nobody asks is no rejection that nobody handles', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    new AwaitedEvents(vi.fn()).fail(down);
    await new Promise((resolve) => void setImmediate(resolve));
    process.off('unhandledRejection', unhandled);

    expect(unhandled).not.toHaveBeenCalled();
  });

  it('that is closed early ends at once, and says so, once', async () => {
    const leave = vi.fn();
    const awaited = new AwaitedEvents(leave);
    const reading = awaited.next();

    expect(await awaited.close()).toEqual(over);
    expect(await awaited.close()).toEqual(over);
    expect(await reading).toEqual(over);
    expect(leave).toHaveBeenCalledOnce();
  });

  it('that was given up has nobody left to tell', async () => {
    const leave = vi.fn();
    const awaited = new AwaitedEvents(leave);
    awaited.finish();

    expect(await awaited.close()).toEqual(over);
    expect(leave).not.toHaveBeenCalled();
  });

  it('that has begun asks for nothing after it was closed', async () => {
    const next = vi.fn(async () => event(2));
    const onReturn = vi.fn(async () => ({ done: true as const, value: undefined }));
    const awaited = new AwaitedEvents(vi.fn());
    awaited.begin(new OpenedEvents(iterable(next, { return: onReturn })), { done: false, value: 1 });
    await awaited.close();

    expect(await awaited.next()).toEqual(over);
    expect(next).not.toHaveBeenCalled();
    expect(onReturn).toHaveBeenCalledOnce();
  });
});

describe('Events on their way out', () => {
  const outgoing = (events: AsyncIterable<unknown>, transport: Partial<Transport> = {}) =>
    new OutgoingEvents(
      new OpenedEvents(events),
      { context: {} as ExecutionContext, transport: { ...UNKNOWN_TRANSPORT, ...transport } },
      (error) => new Error('translated', { cause: error }),
    );

  it('are what the transport makes of them, and end as they do', async () => {
    const values = [event(1), { ...over, value: 'done' }];
    const sent = outgoing(
      iterable(async () => values.shift()),
      { outgoingEvent: (value) => `sent ${String(value)}` },
    );

    expect(await sent.next()).toEqual(event('sent 1'));
    expect(await sent.next()).toEqual({ done: true, value: 'done' });
  });

  it('fail with what errors become', async () => {
    await expect(outgoing(iterable(() => Promise.reject(down))).next()).rejects.toMatchObject({
      message: 'translated',
      cause: down,
    });
  });

  it('are closed when one cannot be sent: after a failure nobody else does', async () => {
    const onReturn = vi.fn(async () => ({ done: true as const, value: undefined }));
    const sent = outgoing(
      iterable(async () => event(1), { return: onReturn }),
      {
        outgoingEvent() {
          throw down;
        },
      },
    );

    await expect(sent.next()).rejects.toBe(down);
    expect(onReturn).toHaveBeenCalledOnce();
  });

  it('are closed when their reader throws, or returns', async () => {
    const onReturn = vi.fn(async () => ({ done: true as const, value: undefined }));
    const sent = outgoing(iterable(vi.fn(), { return: onReturn }));

    await expect(sent.throw(down)).rejects.toBe(down);
    expect(await sent.return()).toEqual(over);
    expect(onReturn).toHaveBeenCalledOnce();
  });
});

it.each([undefined, null, 'text', 1, {}, [], { [Symbol.asyncIterator]: true }])(
  '%j is no stream of events',
  (value) => {
    expect(isAsyncIterable(value)).toBe(false);
  },
);
