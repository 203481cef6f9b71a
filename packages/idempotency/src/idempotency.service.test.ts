import { Readable } from 'node:stream';
import { HttpException, NotFoundException } from '@nestjs/common';
import { ClientDisconnectedError, ResilienceTimeoutError, TimeoutPolicy } from 'holdfast';
import { currentScope } from 'holdfast/binding';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { describe, expect, it, vi } from 'vitest';
import { Machine, MINUTE, pass, SECOND, takeLog, useMachine } from '../test/machine.js';
import { HANGS, rejects } from '../test/scripted-store.js';
import { IdempotencyLockLostError } from './execution/lock.js';
import { IdempotencyRejectedError } from './execution/rejection.js';
import type { IdempotencyRuntime } from './idempotency.runtime.js';
import { IdempotencyService, type IdempotencyRunOptions } from './idempotency.service.js';
import { readHandlerOptions } from './settings.js';

useMachine();

const SEND: IdempotencyRunOptions = { name: 'invoices.send' };
const RECORD = 'k@service.invoices.send';

class Jobs extends Machine {
  readonly service: IdempotencyService;

  constructor(defaults = {}) {
    super();
    const { calls, events } = this;
    const settings = { handlers: readHandlerOptions(defaults) };
    this.service = new IdempotencyService({
      calls,
      events,
      settings,
    } as Partial<IdempotencyRuntime> as IdempotencyRuntime);
  }

  get size(): number {
    return this.store.memory.size;
  }
}

describe('A run', () => {
  it('is done once for each key: the next gets what it returned', async () => {
    const jobs = new Jobs();
    const work = vi.fn(async () => ({ sent: new Date(0) }));

    expect(await jobs.service.run('k', work, SEND)).toEqual({ sent: new Date(0) });
    expect(await jobs.service.run('k', work, SEND)).toEqual({ sent: new Date(0) });
    expect(work).toHaveBeenCalledOnce();
    expect(jobs.events$).toEqual(['executed', 'stored', 'replayed']);
    expect(jobs.told[0]).toMatchObject({ context: 'service', handler: 'invoices.send', key: 'k' });
  });

  it.each([
    [undefined, undefined],
    [null, null],
    ['', ''],
  ])('that returned %s is done all the same', async (value, expected) => {
    const jobs = new Jobs();
    await jobs.service.run('k', () => value, SEND);

    expect(await jobs.service.run('k', () => 'again' as never, SEND)).toBe(expected);
  });

  it('inside of itself is refused at once, and told why: to wait would be to wait for itself', async () => {
    const jobs = new Jobs({ onInFlight: 'wait' });
    const inner = (): Promise<string> => jobs.service.run('k', () => 'inner', SEND);
    const between = (): Promise<unknown> =>
      jobs.service.run('other', () => inner().catch((error: unknown) => error), SEND);

    expect(await jobs.service.run('k', between, SEND)).toMatchObject({
      code: 'IDEMPOTENCY_KEY_IN_USE',
      message: expect.stringContaining('invoices.send with this idempotency key was made from inside of itself'),
      retryAfterMs: undefined,
    });
  });

  it('that was begun by one that has ended is none inside of it, and waits', async () => {
    const jobs = new Jobs({ onInFlight: 'wait' });
    let again: (() => Promise<string>) | undefined;
    const work = (): void => {
      again = AsyncResource.bind(() => jobs.service.run('k', () => 'later', SEND));
    };
    jobs.store.script('release', { does: 500 });
    const first = jobs.service.run('k', work, { ...SEND, storeIf: () => false });
    await pass(100);
    const later = again?.();
    await pass(2_000);
    await first;

    expect(await later).toBe('later');
  });

  it('of another name, or in another scope, has keys of its own; of another payload it is refused', async () => {
    const jobs = new Jobs();
    const run = (options: object): Promise<string> =>
      jobs.service.run('k', () => JSON.stringify(options), { ...SEND, ...options });
    await run({});

    expect(await run({ name: 'other' })).toContain('other');
    expect(await run({ scope: 7 })).toContain('7');
    await expect(run({ payload: 1 })).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  });

  it('that fails as the client’s fault fails the same way the next time', async () => {
    const jobs = new Jobs();
    const error = new NotFoundException('no invoice');
    await expect(jobs.service.run('k', () => Promise.reject(error), SEND)).rejects.toBe(error);
    const again = await jobs.service.run('k', () => 'again', SEND).catch((caught: unknown) => caught);

    expect(again).toBeInstanceOf(HttpException);
    expect((again as HttpException).getResponse()).toEqual(error.getResponse());
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('smtp down');
      },
    ],
    ['rejects', () => Promise.reject(new Error('smtp down'))],
  ])('that %s otherwise gives its key back', async (_how, work) => {
    const jobs = new Jobs();
    await expect(jobs.service.run('k', work, SEND)).rejects.toThrow('smtp down');

    expect([jobs.size, jobs.events$]).toEqual([0, ['executed', 'released:outcome']]);
  });

  it('that another key refused is not answered with that for good: it says nothing of this work', async () => {
    const jobs = new Jobs();
    await jobs.service.run('order', () => 'charged', { name: 'charge', payload: 1 });
    const work = vi.fn((payload: number) => jobs.service.run('order', () => 'charged', { name: 'charge', payload }));
    await expect(jobs.service.run('k', () => work(2), SEND)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });

    expect(await jobs.service.run('k', () => work(1), SEND)).toBe('charged');
    expect(work).toHaveBeenCalledTimes(2);
  });

  it.each([new ClientDisconnectedError('x'), new Error('wrapped', { cause: new ClientDisconnectedError('x') })])(
    'that was given up since its client left gives its key back, whatever storeIf says: %s',
    async (error) => {
      const jobs = new Jobs({ storeIf: () => true });
      await expect(jobs.service.run('k', () => Promise.reject(error), SEND)).rejects.toBe(error);

      expect([jobs.size, jobs.events$]).toEqual([0, ['executed', 'released:outcome']]);
    },
  );

  it('has the context of its caller, and knows itself', async () => {
    const jobs = new Jobs();
    const context = new AsyncLocalStorage<string>();
    const seen = await context.run('job 1', () =>
      jobs.service.run(
        'k',
        async ({ signal }) => {
          await null;
          return [context.getStore(), signal === currentScope()?.signal, jobs.service.current?.signal === signal];
        },
        SEND,
      ),
    );

    expect(seen).toEqual(['job 1', true, true]);
    expect(jobs.service.current).toBeUndefined();
  });

  it('learns of a lost lock by its signal, and its result is not stored over the new owner’s', async () => {
    const jobs = new Jobs();
    let signal: AbortSignal | undefined;
    const result = jobs.service.run(
      'k',
      async (run) => {
        signal = run.signal;
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve));
        return 'mine';
      },
      { ...SEND, lockTtl: '3s' },
    );
    await pass(0);
    jobs.store.memory.clear();
    await jobs.takenByAnother(RECORD);
    await pass(SECOND);

    expect(await result).toBe('mine');
    expect(signal?.reason).toBeInstanceOf(IdempotencyLockLostError);
    expect(jobs.store.memory.peek(RECORD)?.state).toBe('in-flight');
    takeLog();
  });

  it('runs unprotected without its store when it is told to, with a signal that never aborts', async () => {
    const jobs = new Jobs({ onStoreError: 'run' });
    jobs.store.script('acquire', rejects('down'));
    const aborted = await jobs.service.run(
      'k',
      async ({ signal, keep }) => {
        await keep(jobs.store, 1);
        return [signal.aborted, jobs.service.current];
      },
      SEND,
    );

    expect(aborted).toEqual([false, undefined]);
    takeLog();
  });
});

describe('A run without protection', () => {
  it('has a signal of its own: one for all would keep the listeners of each', async () => {
    const jobs = new Jobs({ onStoreError: 'run' });
    jobs.store.always(rejects('down'), 'acquire');
    const signals = new Set<AbortSignal>();
    for (let n = 0; n < 2; n++) await jobs.service.run('k', ({ signal }) => void signals.add(signal), SEND);

    expect(signals.size).toBe(2);
    takeLog();
  });
});

describe('A result that cannot be kept', () => {
  it.each([
    ['it is larger than maxBodySize', { maxBodySize: 3 }, 'released:too-large', /^warn: .*larger than maxBodySize/],
    [
      'storeIf throws',
      {
        storeIf: () => {
          throw new Error('no');
        },
      },
      'released:unstorable',
      /^error: /,
    ],
    ['storeIf returns a promise', { storeIf: (async () => true) as never }, 'released:unstorable', /^error: /],
  ])('since %s is returned all the same, and its key free', async (_why, options, event, line) => {
    const jobs = new Jobs();

    expect(await jobs.service.run('k', () => 'result', { ...SEND, ...options })).toBe('result');
    expect([jobs.size, jobs.running.size, jobs.events$]).toEqual([0, 0, ['executed', event]]);
    expect(takeLog()).toEqual([expect.stringMatching(line)]);
  });

  it('since it is too large is warned of once for each name, and told each time', async () => {
    const jobs = new Jobs();
    for (const name of ['a', 'a', 'b', 'a']) {
      await jobs.service.run('k', () => 'result', { name, maxBodySize: 3 });
    }

    expect(jobs.events$.filter((event) => event === 'released:too-large')).toHaveLength(4);
    expect(takeLog()).toEqual([
      expect.stringMatching(/^warn: a, key .*larger than maxBodySize/),
      expect.stringMatching(/^warn: b, key .*larger than maxBodySize/),
    ]);
  });

  it.each<[string, () => unknown]>([
    ['is a stream', () => Readable.from(['a'])],
    [
      'holds itself',
      () => {
        const circle: { self?: unknown } = {};
        circle.self = circle;
        return circle;
      },
    ],
  ])('since it %s is returned all the same', async (_why, make) => {
    const jobs = new Jobs();
    const result = make();

    expect(await jobs.service.run('k', () => result, SEND)).toBe(result);
    expect([jobs.size, jobs.events$.at(-1)]).toEqual([0, 'released:unstorable']);
    expect(takeLog()).toEqual([expect.stringMatching(/^error: .*is not kept/)]);
  });

  it('leaves the error of its work as it is when storeIf throws', async () => {
    const jobs = new Jobs();
    const error = new Error('work');
    const storeIf = (): never => {
      throw new Error('storeIf');
    };

    await expect(jobs.service.run('k', () => Promise.reject(error), { ...SEND, storeIf })).rejects.toBe(error);
    expect(jobs.size).toBe(0);
    takeLog();
  });
});

describe('An error that does not let itself be looked at', () => {
  it('is that of the run, which gives its key back and leaves no lock', async () => {
    const jobs = new Jobs();
    const hostile = Object.defineProperty(new Error('no'), 'cause', {
      get: () => {
        throw new Error('not to be read');
      },
    });
    const failing = jobs.service.run('k', () => Promise.reject(hostile), SEND).catch((error: unknown) => error);

    expect(await failing).toBe(hostile);
    expect([jobs.size, jobs.events$]).toEqual([0, ['executed', 'released:unstorable']]);
    takeLog();
  });
});

describe('A run inside an attempt', () => {
  it('that was given up while the lock was taken does not begin, and leaves no lock', async () => {
    const jobs = new Jobs();
    const work = vi.fn();
    jobs.store.script('acquire', { answers: 300 });
    let inner: Promise<unknown> = Promise.resolve();
    const outer = expect(
      new TimeoutPolicy(200).execute(() => (inner = jobs.service.run('k', work, SEND))),
    ).rejects.toBeInstanceOf(ResilienceTimeoutError);
    const rejected = pass(0).then(() => expect(inner).rejects.toBeInstanceOf(ResilienceTimeoutError));
    await pass(300);
    await outer;
    await rejected;

    expect([work.mock.calls.length, jobs.size, jobs.events$]).toEqual([0, 0, ['released:unsubscribed']]);
  });

  it('that is given up while it waits takes no lock', async () => {
    const jobs = new Jobs();
    const first = jobs.service.run('k', () => new Promise((resolve) => setTimeout(resolve, 600)), SEND);
    const work = vi.fn();
    const waiting = new TimeoutPolicy(300).execute(() => jobs.service.run('k', work, { ...SEND, onInFlight: 'wait' }));
    const cut = expect(waiting).rejects.toBeInstanceOf(ResilienceTimeoutError);
    await pass(2 * SECOND);
    await Promise.all([first, cut]);

    expect([work.mock.calls.length, jobs.events$.includes('replayed')]).toEqual([0, false]);
  });
});

describe('A key', () => {
  it.each<[unknown, string]>([
    ['', 'The idempotency key is empty'],
    [undefined, 'The idempotency key is empty'],
    ['\u0000', 'The idempotency key'],
    ['x'.repeat(256), 'The idempotency key'],
    [{}, 'The idempotency key'],
  ])('that is %j is refused, and the store not asked', async (key, message) => {
    const jobs = new Jobs();
    const work = vi.fn();
    const error: unknown = await jobs.service.run(key as string, work, SEND).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(IdempotencyRejectedError);
    expect(error).toMatchObject({ code: 'IDEMPOTENCY_KEY_INVALID', message: expect.stringContaining(message) });
    expect([work.mock.calls.length, jobs.store.asked]).toEqual([0, []]);
    expect(jobs.told).toEqual([
      { type: 'rejected', context: 'service', handler: 'invoices.send', code: 'IDEMPOTENCY_KEY_INVALID', status: 400 },
    ]);
  });
});

describe('Options of a run', () => {
  it.each<[unknown, RegExp]>([
    [undefined, /^IdempotencyService\.run\(\)\.options: expected an options object/],
    [{}, /^IdempotencyService\.run\(\)\.name: expected a name/],
    [{ name: '' }, /^IdempotencyService\.run\(\)\.name: expected a name/],
    [{ ...SEND, ttl: 0 }, /^IdempotencyService\.run\(\)\.ttl: .*greater than 0/],
    [{ ...SEND, required: true }, /^IdempotencyService\.run\(\)\.required: unknown option/],
    [{ ...SEND, keyFrom: { header: 'a' } }, /^IdempotencyService\.run\(\)\.keyFrom: unknown option/],
    [{ ...SEND, fingerprint: () => 1 }, /^IdempotencyService\.run\(\)\.fingerprint: unknown option/],
    [{ ...SEND, scope: {} }, /scope/],
    [Object.create(SEND), /^IdempotencyService\.run\(\)\.name: is inherited/],
  ])('are checked: %j', async (options, message) => {
    const jobs = new Jobs();

    await expect(jobs.service.run('k', () => 1, options as never)).rejects.toThrow(TypeError);
    await expect(jobs.service.run('k', () => 1, options as never)).rejects.toThrow(message);
    expect(jobs.store.asked).toEqual([]);
  });

  it('go before those of the module', async () => {
    const jobs = new Jobs({ ttl: '1h', lockTtl: '2s' });
    await jobs.service.run('k', () => 1, { ...SEND, ttl: '5m' });

    expect(jobs.store.asked.map(({ ttl }) => ttl)).toEqual([2_000, 5 * MINUTE]);
  });
});

describe('A run whose store hangs', () => {
  it('is refused, and leaves nothing behind', async () => {
    const jobs = new Jobs();
    jobs.store.script('acquire', HANGS);
    const refused = expect(jobs.service.run('k', () => 1, SEND)).rejects.toMatchObject({ status: 503 });
    await pass(10 * SECOND);

    await refused;
    expect([jobs.running.size, vi.getTimerCount()]).toEqual([0, 0]);
    takeLog();
  });
});
