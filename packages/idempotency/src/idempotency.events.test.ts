import { Logger } from '@nestjs/common';
import { channel, type ChannelListener } from 'node:diagnostics_channel';
import { map } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { IdempotencyEvents, type IdempotencyEvent } from './idempotency.events.js';

const REPLAYED: IdempotencyEvent = { type: 'replayed', context: 'http', handler: 'A.b', key: 'k', status: 201 };
const STORED: IdempotencyEvent = { ...REPLAYED, type: 'stored', duration: 1 };

const listening: [string, ChannelListener][] = [];
function listen(type: string, listener: ChannelListener): void {
  channel(`nestjs:idempotency:${type}`).subscribe(listener);
  listening.push([type, listener]);
}

afterEach(() => {
  for (const [type, listener] of listening.splice(0)) channel(`nestjs:idempotency:${type}`).unsubscribe(listener);
});

describe('Events', () => {
  it('are told to everybody, in their order', () => {
    const events = new IdempotencyEvents();
    const heard: unknown[] = [];
    events.events$.subscribe((event) => void heard.push(event));
    events.events$.pipe(map(({ type }) => type)).subscribe((type) => void heard.push(type));
    events.emit(REPLAYED);
    events.emit(STORED);

    expect(heard).toEqual([REPLAYED, 'replayed', STORED, 'stored']);
  });

  it('go to the channel of their type, and to no other', () => {
    const heard: unknown[] = [];
    listen('replayed', (event, name) => void heard.push([event, name]));
    const events = new IdempotencyEvents();
    events.emit(STORED);
    events.emit(REPLAYED);

    expect(heard).toEqual([[REPLAYED, 'nestjs:idempotency:replayed']]);
  });

  it.each(['executed', 'replayed', 'rejected', 'stored', 'released', 'lock-lost', 'store-error'] as const)(
    'of type %s have a channel',
    (type) => {
      const events = new IdempotencyEvents();
      expect(events.isHeard(type)).toBe(false);
      listen(type, () => {});
      expect(events.isHeard(type)).toBe(true);
    },
  );

  it('are heard as soon as anybody subscribes, and not longer', () => {
    const events = new IdempotencyEvents();
    const subscription = events.events$.subscribe();
    expect(events.isHeard('stored')).toBe(true);
    subscription.unsubscribe();
    expect(events.isHeard('stored')).toBe(false);
  });

  it('of a type that is not known harm nobody', () => {
    expect(() => new IdempotencyEvents().emit({ ...REPLAYED, type: 'own' } as never)).not.toThrow();
  });

  it('end with the application, and may go on being told', () => {
    const events = new IdempotencyEvents();
    const complete = vi.fn();
    const next = vi.fn();
    events.events$.subscribe({ next, complete });
    events.close();
    events.close();
    events.emit(STORED);

    expect([complete.mock.calls.length, next.mock.calls.length]).toEqual([1, 0]);
  });
});

describe('A subscriber that throws', () => {
  it.each(['at once', 'as a promise'])(
    '%s is reported once, goes on receiving, and keeps nothing from others',
    async (how) => {
      const error = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
      const events = new IdempotencyEvents();
      const heard: unknown[] = [];
      let told = 0;
      events.events$.subscribe(() => {
        told += 1;
        if (how === 'as a promise') return Promise.reject(new Error('broken')) as never;
        throw new Error('broken');
      });
      events.events$.subscribe((event) => void heard.push(event));
      events.emit(STORED);
      events.emit(REPLAYED);
      await new Promise((resolve) => setImmediate(resolve));

      expect([told, heard]).toEqual([2, [STORED, REPLAYED]]);
      expect(error.mock.calls).toEqual([
        ['A subscriber of idempotency events failed (reported once)', expect.stringContaining('broken')],
      ]);
    },
  );
});
