import { ResilienceTimeoutError, TimeoutPolicy } from 'holdfast';
import { currentScope } from 'holdfast/binding';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, vi } from 'vitest';
import { answer, Machine, MINUTE, pass, STORE_TIMEOUT, takeLog, useMachine } from '../../test/machine.js';
import { HANGS, rejects } from '../../test/scripted-store.js';
import type { IdempotencyStore } from '../store.js';
import { logger } from '../log.js';
import { currentCall } from './held-call.js';
import { IdempotencyLockLostError } from './lock.js';

useMachine();

describe('The handler of a call', () => {
  it('runs in the context of its caller, inside an attempt, and knows its call', async () => {
    const machine = new Machine();
    const context = new AsyncLocalStorage<string>();
    await context.run('request 1', async () => {
      const held = await machine.hold();
      const seen = await held.run(async () => {
        await null;
        return [context.getStore(), currentScope()?.signal === held.lock.signal, currentCall() === held];
      });
      await held.settle(answer(1));

      expect(seen).toEqual(['request 1', true, true]);
      expect([context.getStore(), currentCall(), currentScope()]).toEqual(['request 1', undefined, undefined]);
    });
  });

  it.each([false, true])(
    'is told to have been executed, with its duration, whether it fails or not (%s)',
    async (fails) => {
      const machine = new Machine();
      const held = await machine.hold();
      const run = held.run(async () => {
        await new Promise((resolve) => setTimeout(resolve, 250));
        if (fails) throw new Error('declined');
      });
      const ended = run.catch((error: unknown) => error);
      await pass(250);

      expect((await ended) instanceof Error).toBe(fails);
      expect(machine.told).toEqual([
        { type: 'executed', context: 'http', handler: 'Payments.create', key: 'k', duration: 250 },
      ]);
      await held.settle({ free: 'outcome' });
    },
  );
});

describe('A key that is given back', () => {
  it.each(['outcome', 'unstorable', 'too-large', 'unsubscribed'] as const)(
    'is free at once, and told with the reason %s',
    async (free) => {
      const machine = new Machine();
      const held = await machine.hold();
      await held.settle({ free });

      expect([machine.store.memory.size, machine.running.size]).toEqual([0, 0]);
      expect(machine.told).toMatchObject([{ type: 'released', reason: free, duration: 0 }]);
    },
  );

  it.each([
    ['rejects', rejects(new Error('down')), 0],
    ['throws', { throws: 'down' }, 0],
    ['answers nonsense', { value: 'OK', does: 'never', answers: 0 } as const, 0],
    ['hangs', HANGS, STORE_TIMEOUT],
  ])(
    'stays locked until lockTtl when release() %s: tried once, told once, and nobody waits longer',
    async (...given) => {
      const [, step, wait] = given;
      const machine = new Machine();
      const held = await machine.hold(machine.call({ lockTtl: '30s' }));
      machine.store.script('release', step);
      const settled = vi.fn();
      void held.settle({ free: 'outcome' }).then(settled);
      await pass(wait);

      expect(settled).toHaveBeenCalledOnce();
      expect(machine.events$).toEqual(['store-error:release', 'lock-lost:release']);
      expect(takeLog()).toEqual([
        'error: Payments.create, key k: the store failed in release()',
        'warn: Payments.create, key k: the key could not be released and stays locked until lockTtl is over. The handler may run again for this key.',
      ]);
      expect([machine.store.count('release'), machine.isLocked, vi.getTimerCount()]).toEqual([1, true, 0]);
      await pass(30_000 - wait);
      expect(machine.isLocked).toBe(false);
    },
  );

  it('that is another’s by now stays his', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    machine.store.memory.clear();
    await machine.takenByAnother();
    await held.settle({ free: 'outcome' });

    expect([machine.isLocked, machine.events$]).toEqual([true, ['lock-lost:release']]);
    expect(takeLog()).toHaveLength(1);
  });
});

describe('An outcome that is no record', () => {
  it('gives its key back, so that it blocks nobody', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    await held.settle({ keep: { status: 99, headers: {} } });

    expect([machine.store.memory.size, machine.events$]).toEqual([0, ['released:unstorable']]);
    expect(takeLog()).toEqual([expect.stringMatching(/^error: .*the outcome could not be looked at, and is not kept/)]);
  });
});

describe('An outcome that is kept with the transaction of its handler', () => {
  it('is told as stored when the transaction was committed', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    await held.keepValueIn(machine.store.memory, 'joined');
    await held.settle(answer('joined, with headers'));

    expect([machine.kept, machine.events$]).toEqual(['joined', ['stored']]);
  });

  it('holds also when the handler fails after its commit', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    await held.keepValueIn(machine.store.memory, 'joined');
    await held.settle({ free: 'outcome' });

    expect([machine.kept, machine.events$]).toEqual(['joined', ['stored']]);
  });

  it('is refused when the key is another’s by now: the transaction has to be rolled back', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    machine.store.memory.clear();
    await machine.takenByAnother();

    await expect(held.keepValueIn(machine.store.memory, 'joined')).rejects.toBeInstanceOf(IdempotencyLockLostError);
    await held.settle({ free: 'outcome' });
    takeLog();
  });

  it('is refused in an attempt that was given up, with the reason, also one that was given up meanwhile', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const waiting = { complete: () => pass(2_000).then(() => true) } as Partial<IdempotencyStore> as IdempotencyStore;
    const refused = async (ms: number, store: IdempotencyStore): Promise<void> => {
      let kept: Promise<unknown> | undefined;
      const attempt = new TimeoutPolicy({ timeout: 1_000 }).execute(async () => {
        kept = pass(ms).then(() => held.keepValueIn(store, 'late'));
        await kept;
      });
      const reason: unknown = await attempt.catch((error: unknown) => error);
      expect(reason).toBeInstanceOf(ResilienceTimeoutError);
      await expect(kept).rejects.toBe(reason);
    };
    await held.run(async () => {
      await refused(1_500, machine.store.memory);
      await refused(500, waiting);
    });

    await held.settle(answer('of the next attempt'));
    expect(machine.kept).toBe('of the next attempt');
  });

  it('is refused when the handler has ended, whose own outcome is on its way', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    await held.run(async () => 1);

    await expect(held.keepValueIn(machine.store.memory, 'late')).rejects.toBeInstanceOf(IdempotencyLockLostError);
    await held.settle(answer(1));
    expect(machine.kept).toBe(1);
  });

  it('is written the usual way when the transaction was rolled back', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const rolledBack = { complete: async () => true } as Partial<IdempotencyStore> as IdempotencyStore;
    await held.keepValueIn(rolledBack, 'joined');
    await held.settle(answer('usual'));

    expect(machine.kept).toBe('usual');
  });
});

describe('A logger that throws', () => {
  it('keeps no key locked, and no caller from his answer', async () => {
    const machine = new Machine();
    for (const level of ['warn', 'error'] as const) {
      vi.spyOn(logger, level).mockImplementation(() => {
        throw new Error('disk full');
      });
    }
    const held = await machine.hold(machine.call({ lockTtl: 3_000 }));
    machine.store.script('extend', rejects('down'));
    machine.store.script('complete', rejects('down'));
    await pass(1_000);
    await held.settle(answer('mine'));
    await pass(200);
    expect(machine.kept).toBe('mine');

    machine.store.script('release', rejects('down'));
    await (await machine.hold(machine.call({}, { recordKey: 'other' }))).settle({ free: 'outcome' });
    expect(machine.running.size).toBe(0);
    await pass(MINUTE);
  });
});

describe('What a store throws', () => {
  it.each([
    Object.create(null) as object,
    Symbol('x'),
    undefined,
    {
      toString: () => {
        throw new Error('no');
      },
    },
  ])('may be anything', async (error) => {
    const machine = new Machine();
    machine.store.script('release', rejects(error));
    await (await machine.hold()).settle({ free: 'outcome' });

    expect(machine.told[0]).toMatchObject({ type: 'store-error', error });
    expect(takeLog()).toHaveLength(2);
    await pass(MINUTE);
  });
});
