import { currentScope } from 'holdfast/binding';
import { describe, expect, it, vi } from 'vitest';
import { answer, HOUR, Machine, MINUTE, pass, SECOND, takeLog, useMachine } from '../../test/machine.js';
import { HANGS, rejects } from '../../test/scripted-store.js';
import type { IdempotencyStore } from '../store.js';
import { IdempotencyLockLostError } from './lock.js';

useMachine();

describe('A lock', () => {
  it('is renewed every third of lockTtl, to its whole length, and not after its call has ended', async () => {
    const machine = new Machine();
    const since = Date.now();
    const held = await machine.hold(machine.call({ lockTtl: 3_001 }));

    await pass(999);
    expect(machine.store.count('extend')).toBe(0);
    await pass(1);
    expect(machine.store.count('extend')).toBe(1);
    await pass(1_000);
    const beats = machine.store.asked.filter(({ method }) => method === 'extend');
    expect(beats.map(({ at, ttl, owner }) => [at - since, ttl, owner])).toEqual([
      [1_000, 3_001, held.lock.owner],
      [2_000, 3_001, held.lock.owner],
    ]);
    await held.settle(answer(1));
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    [1, 1],
    [2, 1],
    [5, 1],
    [6, 2],
    ['1.5ms', 1],
    [1_000 / 3, 111],
  ] as const)('of %s is renewed every %i ms', async (lockTtl, beat) => {
    const machine = new Machine();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const held = await machine.hold(machine.call({ lockTtl }));

    expect(timers.mock.lastCall?.[1]).toBe(beat);
    await held.settle(answer(1));
  });

  it('of months is renewed as late as timers can wait, and not at once', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: '90d', maxLockHold: '365d' }));

    await pass(2 ** 31 - 2);
    expect(machine.store.count('extend')).toBe(0);
    await pass(1);
    expect(machine.store.count('extend')).toBe(1);
    await held.settle(answer(1));
  });

  it('keeps no process alive', async () => {
    const machine = new Machine();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const held = await machine.hold();

    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false, false]);
    await held.settle(answer(1));
  });

  it('is renewed while an earlier renewal hangs, whatever lockTtl and storeTimeout are', async () => {
    const machine = new Machine({ storeTimeout: 10_000 });
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('extend', HANGS);

    await pass(10_999);
    expect([machine.store.count('extend'), machine.isLocked, machine.events$]).toEqual([10, true, []]);
    await pass(1);
    expect([machine.isLocked, machine.events$]).toEqual([true, ['store-error:extend']]);
    takeLog();
    await held.settle(answer(1));
  });

  it('is renewed by two calls at a time, and not more: the store is asked as soon as it has answered one', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('extend', { answers: 2_500 }, { answers: 2_500 });

    await pass(3_499);
    expect(machine.store.count('extend')).toBe(2);
    await pass(1);
    expect(machine.store.count('extend')).toBe(3);
    await pass(500);
    expect([machine.store.count('extend'), machine.isLocked]).toEqual([4, true]);
    await pass(500);
    await held.settle(answer(1));
  });

  it('goes on being renewed when the store fails, which is logged once and told each time', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('extend', rejects(new Error('down')), {}, { throws: new Error('down') });

    await pass(3_000);
    expect(machine.events$).toEqual(['store-error:extend', 'store-error:extend']);
    expect(takeLog()).toEqual(['error: Payments.create, key k: the store failed in extend()']);
    expect(held.lock.signal.aborted).toBe(false);
    await pass(1_000);
    expect([machine.store.count('extend'), machine.isLocked]).toEqual([4, true]);
    await held.settle(answer(1));
  });

  it('outlives a call of the store that hangs', async () => {
    const machine = new Machine({ storeTimeout: 1_500 });
    const held = await machine.hold(machine.call({ lockTtl: 6_000 }));
    machine.store.script('extend', HANGS);

    await pass(4_000);
    expect([machine.store.count('extend'), machine.isLocked]).toEqual([2, true]);
    await pass(4_000);
    expect(machine.isLocked).toBe(true);
    takeLog();
    await held.settle(answer(1));
  });
});

describe('A lock that is lost', () => {
  it('is told once, and its signal aborts with the reason', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    await machine.takenByAnother();

    await pass(999);
    expect(held.lock.signal.aborted).toBe(false);
    await pass(1);
    expect(held.lock.signal.reason).toBeInstanceOf(IdempotencyLockLostError);
    expect(held.lock.signal.reason).toMatchObject({ name: 'IdempotencyLockLostError', code: 'IDEMPOTENCY_LOCK_LOST' });
    expect(vi.getTimerCount()).toBe(0);
    await held.settle(answer('mine'));
    expect(machine.events$).toEqual(['lock-lost:extend']);
    expect(takeLog()).toEqual([
      'warn: Payments.create, key k: the lock was lost while the handler was running. The handler may run again for this key.',
    ]);
    expect(machine.isLocked).toBe(true);
  });

  it('cancels what its handler has begun, and leaves the handler its answer', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    const reasons: unknown[] = [];
    const result = held.run(async () => {
      const signal = currentScope()?.signal as AbortSignal;
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          resolve();
        });
      });
      return 'mine';
    });
    machine.store.memory.clear();
    const another = await machine.takenByAnother();
    await pass(1_000);

    expect(await result).toBe('mine');
    expect(reasons).toEqual([expect.any(IdempotencyLockLostError)]);
    await held.settle(answer('mine'));
    expect(await machine.store.memory.complete('k', another, answer('theirs').keep, HOUR)).toBe(true);
    expect(machine.kept).toBe('theirs');
    takeLog();
  });

  it('is not told of while the outcome is being written, which has ended it', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('complete', { answers: 2_500 });
    const settled = held.settle(answer('mine'));
    await pass(2_500);
    await settled;

    expect([machine.store.count('extend'), machine.events$]).toEqual([1, ['stored']]);
    expect(held.lock.signal.aborted).toBe(false);
  });

  it.each([{ does: 500 }, { does: 500, error: 'down' }])(
    'is not told of when its call has ended meanwhile: %j',
    async (step) => {
      const machine = new Machine();
      const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
      machine.store.script('extend', step);
      await pass(1_000);
      await held.settle({ free: 'outcome' });
      await pass(500);

      expect(machine.events$).toEqual(['released:outcome']);
      expect(held.lock.signal.aborted).toBe(false);
    },
  );
});

describe('A lock that has run out, as while the event loop was held', () => {
  it('is taken anew when nobody else has the key: its handler is not stopped, and its outcome is kept', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    await pass(1_000);
    expect([machine.isLocked, held.lock.signal.aborted, machine.events$]).toEqual([true, false, []]);
    expect(takeLog()).toEqual([
      'warn: Payments.create, key k: the lock had run out before it was renewed, and was taken anew',
    ]);

    await pass(1_000);
    expect(machine.store.count('extend')).toBe(2);
    await held.settle(answer('mine'));
    expect([machine.kept, machine.events$]).toEqual(['mine', ['stored']]);
  });

  it('is lost when another’s answer is there', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    await machine.store.memory.complete('k', await machine.takenByAnother(), answer('theirs').keep, HOUR);
    await pass(1_000);

    expect([held.lock.signal.aborted, machine.events$]).toEqual([true, ['lock-lost:extend']]);
    await held.settle(answer('mine'));
    expect(machine.kept).toBe('theirs');
    takeLog();
  });

  it('is taken anew once, by the first of two renewals that have found nothing', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('extend', { answers: 1_500 }, { answers: 800 });
    machine.store.script('acquire', { does: 100, answers: 400 });
    // Asked after 1 and 2 s, answered after 2.5 and 2.8; taken anew and known of after 2.9.
    await pass(4_000);

    expect([machine.store.count('acquire'), held.lock.signal.aborted, machine.events$]).toEqual([2, false, []]);
    expect(takeLog()).toHaveLength(1);
    await held.settle(answer('mine'));
    expect([machine.kept, machine.events$]).toEqual(['mine', ['stored']]);
  });

  it('is not lost by a renewal that was asked before, and answers after it was taken anew', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('extend', { does: 0, answers: 2_500 });
    await pass(3_500);

    expect([machine.store.count('acquire'), held.lock.signal.aborted, machine.isLocked]).toEqual([2, false, true]);
    expect(takeLog()).toHaveLength(1);
    await held.settle(answer('mine'));
  });

  it('is not renewed while it is being taken anew, which would find that it is gone once more', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('acquire', { does: 1_200 });
    await pass(2_199);
    expect(machine.store.count('extend')).toBe(1);
    await pass(1);

    expect([machine.store.count('extend'), machine.store.count('acquire')]).toEqual([2, 2]);
    expect([held.lock.signal.aborted, machine.isLocked, takeLog().length]).toEqual([false, true, 1]);
    await held.settle(answer('mine'));
  });

  it('is one’s own when it is found taken by a try that had failed and was done all the same', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('acquire', { does: 1_900, answers: 500, error: 'down' }, { does: 1_000 });
    await pass(3_000);

    expect([machine.store.count('acquire'), held.lock.signal.aborted, machine.isLocked]).toEqual([3, false, true]);
    await held.settle(answer('mine'));
    expect([machine.kept, machine.events$]).toEqual(['mine', ['store-error:acquire', 'stored']]);
    takeLog();
  });

  it('is kept when the store fails while that is looked up, which is told of the method that failed', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('acquire', { does: 1_900, answers: 500, error: 'down' }, { does: 1_000 });
    machine.store.script('extend', { does: 0 }, { does: 0 }, rejects('down'));
    await pass(3_000);

    expect([held.lock.signal.aborted, machine.isLocked]).toEqual([false, true]);
    expect(machine.events$).toEqual(['store-error:acquire', 'store-error:extend']);
    await held.settle(answer('mine'));
    expect(machine.kept).toBe('mine');
    takeLog();
  });

  it('is not told as lost when its call ends while that is looked up', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('acquire', { does: 1_900, answers: 500, error: 'down' }, { does: 1_000 });
    machine.store.script('extend', { does: 0 }, { does: 0 }, { does: 500 });
    await pass(3_100);
    await held.settle({ free: 'outcome' });
    await pass(500);

    expect([machine.store.count('extend'), held.lock.signal.aborted]).toEqual([3, false]);
    expect(machine.events$).toEqual(['store-error:acquire', 'released:outcome']);
    takeLog();
  });

  it('is lost when another takes it behind a try that had failed', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('acquire', rejects('down'));
    await pass(1_500);
    await machine.takenByAnother();
    await pass(500);

    expect([held.lock.signal.aborted, machine.events$]).toEqual([true, ['store-error:acquire', 'lock-lost:extend']]);
    await held.settle(answer('mine'));
    takeLog();
  });

  it('is tried again when the store fails meanwhile', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.memory.clear();
    machine.store.script('acquire', rejects('down'));
    await pass(1_000);
    expect([machine.isLocked, held.lock.signal.aborted, machine.events$]).toEqual([
      false,
      false,
      ['store-error:acquire'],
    ]);

    await pass(1_000);
    expect(machine.isLocked).toBe(true);
    await held.settle(answer('mine'));
    takeLog();
  });

  it('is known as one’s own when the outcome comes while nobody has heard of it yet', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('extend', { does: 'never', answers: 0, value: false });
    machine.store.script('acquire', { answers: 5_000 });
    machine.store.memory.clear();
    await pass(1_000);
    machine.store.script('complete', { does: 'never', answers: 0, value: false });
    await held.settle(answer('mine'));

    expect([machine.kept, machine.events$]).toEqual(['mine', ['stored']]);
    await pass(5_000);
    expect(machine.kept).toBe('mine');
  });

  it.each([{ does: 500 }, { does: 500, error: 'down' }])(
    'leaves nothing behind when its call ends meanwhile: %j',
    async (step) => {
      const machine = new Machine();
      const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
      machine.store.memory.clear();
      machine.store.script('acquire', step);
      await pass(1_000);
      await held.settle({ free: 'outcome' });
      await pass(500);

      expect([machine.isLocked, held.lock.signal.aborted]).toEqual(['error' in step, false]);
      expect(machine.events$).toEqual(['lock-lost:release']);
      takeLog();
    },
  );
});

describe('A lock of which a transaction makes a record', () => {
  /** As on a server: a renewal waits for the row, and finds what the end of the transaction leaves. */
  async function joined(end: 'commit' | 'rollback') {
    const machine = new Machine();
    const { memory } = machine.store;
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('extend', { does: 500 });
    await pass(1_000);
    const rolledBack = { complete: async () => true } as Partial<IdempotencyStore> as IdempotencyStore;
    await held.keepValueIn(end === 'commit' ? memory : rolledBack, 'joined');
    await pass(500);

    return { machine, held };
  }

  it('is not lost when a renewal finds the record: nothing is told, nothing stopped, and nothing renewed any more', async () => {
    const { machine, held } = await joined('commit');
    expect([machine.events$, held.lock.signal.aborted, vi.getTimerCount()]).toEqual([[], false, 0]);

    await held.settle(answer('joined, with headers'));
    expect([machine.kept, machine.events$]).toEqual(['joined', ['stored']]);
  });

  it('is renewed after a rollback', async () => {
    const { machine, held } = await joined('rollback');
    await pass(5_000);
    expect([machine.isLocked, machine.events$, held.lock.signal.aborted]).toEqual([true, [], false]);

    await held.settle(answer('usual'));
    expect(machine.kept).toBe('usual');
  });

  it('is lost when another takes it after a rollback', async () => {
    const { machine, held } = await joined('rollback');
    machine.store.memory.clear();
    await machine.takenByAnother();
    await pass(1_000);
    expect([machine.events$, held.lock.signal.aborted]).toEqual([['lock-lost:extend'], true]);

    await held.settle({ free: 'outcome' });
    takeLog();
  });
});

describe('maxLockHold', () => {
  it('ends renewals at its very millisecond, with a warning and without an event', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000, maxLockHold: 3_500 }));

    await pass(3_499);
    expect([machine.store.count('extend'), takeLog()]).toEqual([3, []]);
    await pass(1);
    expect([machine.store.count('extend'), takeLog(), machine.events$]).toEqual([
      3,
      [
        'warn: Payments.create, key k: the handler runs for longer than maxLockHold (3500ms), and its lock is not renewed any more',
      ],
      [],
    ]);
    expect(vi.getTimerCount()).toBe(0);
    await pass(2_499);
    expect(machine.isLocked).toBe(true);
    await pass(1);
    expect([machine.isLocked, held.lock.signal.aborted]).toEqual([false, false]);
    await held.settle(answer('late'));
    expect(machine.kept).toBe('late');
  });

  it('that is over leaves the key to whoever has taken it', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000, maxLockHold: 1 }));
    await pass(3_000);
    await machine.takenByAnother();
    await held.settle(answer('late'));

    expect([machine.isLocked, machine.events$]).toEqual([true, ['lock-lost:complete']]);
    expect(takeLog()).toHaveLength(2);
  });

  it('does not count while the outcome is being written', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000, maxLockHold: 5 * SECOND }));
    machine.store.script('complete', { does: 4_000 });
    await pass(4_900);
    const settled = held.settle(answer('mine'));
    await pass(3_900);
    expect(machine.isLocked).toBe(true);
    await pass(100);
    await settled;

    expect([machine.kept, machine.events$, takeLog()]).toEqual(['mine', ['stored'], []]);
  });

  it('may be longer than timers are', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: MINUTE, maxLockHold: '52w' }));
    await pass(HOUR);

    expect(machine.store.count('extend')).toBe(180);
    await held.settle(answer(1));
  });
});
