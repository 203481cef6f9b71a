import { describe, expect, it } from 'vitest';
import { answer, Machine, MINUTE, pass, SECOND, takeLog, useMachine } from '../../test/machine.js';
import { rejects } from '../../test/scripted-store.js';

useMachine();

const FAILED = 'error: Payments.create, key k: the store failed in acquire()';
const DOWN = rejects(new Error('down'));

/** Calls that come one after the other, in so many milliseconds, and are refused. */
async function refuse(machine: Machine, calls: number, withinMs = 0): Promise<void> {
  for (let call = 0; call < calls; call++) {
    await machine.calls.admit(machine.call(), () => false).catch(() => {});
    await pass(withinMs / calls);
  }
}

/** A call whose store works. */
async function serve(machine: Machine): Promise<void> {
  machine.store.script('acquire', {});
  await (await machine.hold()).settle({ free: 'outcome' });
}

describe('Of a store that is away', () => {
  it('there is one line for all calls of a minute, and an event for each', async () => {
    const machine = new Machine();
    machine.store.always(DOWN, 'acquire');
    await refuse(machine, 500, MINUTE - 1);

    expect(takeLog()).toEqual([FAILED]);
    expect(machine.events$.filter((type) => type === 'store-error:acquire')).toHaveLength(500);
  });

  it('there is another line after a minute, with how many calls it has failed for meanwhile', async () => {
    const machine = new Machine();
    machine.store.always(DOWN, 'acquire');
    await refuse(machine, 500, MINUTE);
    takeLog();
    await refuse(machine, 1);
    expect(takeLog()).toEqual([`${FAILED}, and for 499 calls since this was last logged`]);
    await pass(MINUTE);
    await refuse(machine, 1);

    expect(takeLog()).toEqual([FAILED]);
  });

  it('a call that asks again and again counts once', async () => {
    const machine = new Machine();
    machine.store.always(DOWN, 'extend');
    const held = await machine.hold(machine.call({ lockTtl: '3s' }));
    await pass(2 * MINUTE);
    expect(machine.told.length).toBeGreaterThan(100);
    expect(takeLog()).toEqual(['error: Payments.create, key k: the store failed in extend()']);
    await held.settle({ free: 'outcome' });
    takeLog();
  });

  it('there is a line for each method that fails', async () => {
    const machine = new Machine();
    machine.store.script('extend', DOWN, DOWN);
    const held = await machine.hold(machine.call({ lockTtl: '3s' }));
    await pass(2 * SECOND);
    machine.store.script('complete', DOWN, DOWN);
    await held.settle(answer(1));
    await pass(SECOND);

    expect(takeLog()).toEqual([
      'error: Payments.create, key k: the store failed in extend()',
      'error: Payments.create, key k: the store failed in complete()',
    ]);
    expect(machine.events$.filter((type) => type.startsWith('store-error'))).toHaveLength(4);
  });
});

describe('Of a store that is back', () => {
  it('one line tells for how long, and for how many calls, it had failed', async () => {
    const machine = new Machine();
    machine.store.always(DOWN, 'acquire');
    await refuse(machine, 10, 5 * SECOND);
    await serve(machine);
    await serve(machine);

    expect(takeLog()).toEqual([FAILED, 'warn: The store answers again. It had failed for 10 calls in 5000ms.']);
  });

  it('keys that can be taken say nothing of what fails later', async () => {
    const machine = new Machine();
    for (let time = 0; time < 3; time++) {
      const held = await machine.hold();
      machine.store.script('release', DOWN);
      await held.settle({ free: 'outcome' });
      machine.store.memory.clear();
    }

    expect(takeLog().filter((line) => !line.includes('could not be released'))).toEqual([
      'error: Payments.create, key k: the store failed in release()',
    ]);
  });

  it('no line is needed when a single call had met its failure', async () => {
    const machine = new Machine();
    machine.store.script('acquire', DOWN);
    await refuse(machine, 1);
    await serve(machine);

    expect(takeLog()).toEqual([FAILED]);
  });

  it('and is away again, there are no more lines than of one that is away', async () => {
    const machine = new Machine();
    machine.store.always(DOWN, 'acquire');
    for (let time = 0; time < 100; time++) {
      await refuse(machine, 2);
      await serve(machine);
    }

    expect(takeLog()).toEqual([FAILED, 'warn: The store answers again. It had failed for 2 calls in 0ms.']);
    await pass(MINUTE);
    await refuse(machine, 2);
    expect(takeLog()).toEqual([`${FAILED}, and for 199 calls since this was last logged`]);
  });
});
