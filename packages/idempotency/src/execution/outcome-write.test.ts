import { describe, expect, it, vi } from 'vitest';
import { answer, HOUR, Machine, MINUTE, pass, SECOND, STORE_TIMEOUT, takeLog, useMachine } from '../../test/machine.js';
import { HANGS, LOST, rejects, type Step } from '../../test/scripted-store.js';
import type { HeldCall } from './held-call.js';

useMachine();

const FAILED = 'error: Payments.create, key k: the store failed in complete()';

/** Tells when the caller had its answer. */
function settling(held: HeldCall): { readonly after: () => number | undefined } {
  const since = Date.now();
  let until: number | undefined = undefined;
  void held.settle(answer('mine')).then(() => (until = Date.now()));

  return { after: () => (until === undefined ? undefined : until - since) };
}

async function isOver(held: HeldCall): Promise<boolean> {
  let over = false;
  void held.over.then(() => (over = true));
  await pass(0);

  return over;
}

describe('An outcome', () => {
  it('is stored before its caller has an answer, for ttl and not a millisecond longer', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ ttl: 5_000 }));
    machine.store.script('complete', { does: 300 });
    const caller = settling(held);
    await pass(299);
    expect(caller.after()).toBeUndefined();
    await pass(1);

    expect([caller.after(), machine.kept]).toEqual([300, 'mine']);
    expect(machine.told).toEqual([
      { type: 'stored', context: 'http', handler: 'Payments.create', key: 'k', status: 201, duration: 300 },
    ]);
    await pass(4_999);
    expect(machine.kept).toBe('mine');
    await pass(1);
    expect(machine.store.memory.size).toBe(0);
  });

  it('takes two calls of the store, with that of its lock', async () => {
    const machine = new Machine();
    await (await machine.hold()).settle(answer(1));

    expect(machine.store.asked.map(({ method }) => method)).toEqual(['acquire', 'complete']);
  });
});

describe('An outcome that the store does not take at once', () => {
  const hiccups: readonly (readonly [string, Step, number])[] = [
    ['rejects', rejects(new Error('down')), 0],
    ['throws', { throws: new Error('down') }, 0],
    ['answers nonsense', { does: 'never', answers: 0, value: 'OK' }, 0],
    ['has done it and rejects', { error: new Error('reset') }, 0],
    ['hangs', HANGS, STORE_TIMEOUT],
    ['has done it and hangs', LOST, STORE_TIMEOUT],
    ['does it late', { does: STORE_TIMEOUT + 20 }, STORE_TIMEOUT],
    ['has done it and answers late', { answers: STORE_TIMEOUT + 20 }, STORE_TIMEOUT],
  ];

  it.each(hiccups)(
    'is stored in the end, and its caller answered after the first try, when complete() %s',
    async (...given) => {
      const [, step, wait] = given;
      const machine = new Machine();
      const held = await machine.hold();
      machine.store.script('complete', step);
      const caller = settling(held);
      if (wait > 0) await pass(wait - 1);
      if (wait > 0) expect(caller.after()).toBeUndefined();
      await pass(wait > 0 ? 1 : 0);

      expect(caller.after()).toBe(wait);
      await pass(200);
      expect([machine.kept, machine.events$]).toEqual(['mine', ['store-error:complete', 'stored']]);
      expect(takeLog()).toEqual([FAILED]);
      expect(await isOver(held)).toBe(true);
      expect(machine.running.size).toBe(0);
    },
  );

  it('is tried again for an hour, first after a tenth of a second and then every few, and keeps its lock meanwhile', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    machine.store.always(rejects('down'), 'complete');
    const caller = settling(held);
    await pass(50 - 1);
    expect(machine.store.count('complete')).toBe(1);
    await pass(51);
    expect([caller.after(), machine.store.count('complete')]).toEqual([0, 2]);
    await pass(59 * MINUTE);
    expect([machine.isLocked, machine.events$.includes('lock-lost:complete')]).toEqual([true, false]);
    const tries = machine.store.count('complete');
    expect(tries).toBeGreaterThan(700);
    expect(tries).toBeLessThan(1_500);

    machine.store.always({}, 'complete');
    await pass(5 * SECOND);
    expect([machine.kept, machine.events$.at(-1), takeLog()]).toEqual(['mine', 'stored', [FAILED]]);
  });

  it('is given up when maxLockHold is over, which is told once, and not before', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000, maxLockHold: MINUTE }));
    await pass(50 * SECOND);
    machine.store.always(rejects('down'), 'complete');
    settling(held);
    await pass(MINUTE - 1);
    expect(machine.events$).not.toContain('lock-lost:complete');
    await pass(5_001);

    expect(machine.events$.filter((type) => type === 'lock-lost:complete')).toHaveLength(1);
    expect(takeLog()).toEqual([
      FAILED,
      'warn: Payments.create, key k: the outcome could not be stored. The handler may run again for this key.',
    ]);
    expect([await isOver(held), machine.running.size]).toEqual([true, 0]);
    await pass(3_000);
    expect([machine.isLocked, vi.getTimerCount()]).toEqual([false, 0]);
  });

  it('is not written twice when a try that was given up lands after the next one', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    machine.store.script('complete', { does: STORE_TIMEOUT + 5 * SECOND });
    settling(held);
    await pass(STORE_TIMEOUT + 6 * SECOND);

    expect([machine.kept, machine.store.count('complete')]).toEqual(['mine', 2]);
    expect(machine.events$).toEqual(['store-error:complete', 'stored']);
    takeLog();
  });
});

describe('An outcome whose lock has expired meanwhile', () => {
  const expired = async (options = {}): Promise<{ machine: Machine; held: HeldCall }> => {
    const machine = new Machine(options);
    const held = await machine.hold();
    machine.store.memory.clear();

    return { machine, held };
  };

  it('is stored when nobody has taken the key', async () => {
    const { machine, held } = await expired();
    await held.settle(answer('mine'));

    expect([machine.kept, machine.events$]).toEqual(['mine', ['stored']]);
  });

  it('is not stored while another runs, and that is told once', async () => {
    const { machine, held } = await expired();
    await machine.takenByAnother();
    await held.settle(answer('mine'));
    await pass(MINUTE);

    expect([machine.isLocked, machine.events$]).toEqual([true, ['lock-lost:complete']]);
    expect(takeLog()).toEqual([
      'warn: Payments.create, key k: the lock was lost, so that the outcome is not stored. The handler may run again for this key.',
    ]);
    expect(await isOver(held)).toBe(true);
  });

  it.each(['theirs', 'mine'])('does not replace the answer %s of another, and is told as lost', async (theirs) => {
    const { machine, held } = await expired();
    await machine.store.memory.complete('k', await machine.takenByAnother(), answer(theirs).keep, HOUR);
    await held.settle(answer('mine'));

    expect([machine.kept, machine.events$]).toEqual([theirs, ['lock-lost:complete']]);
    expect(takeLog()).toHaveLength(1);
  });

  it('does not replace the answer of another after a try that failed', async () => {
    const { machine, held } = await expired();
    machine.store.script('complete', rejects('down'));
    settling(held);
    await machine.store.memory.complete('k', await machine.takenByAnother(), answer('theirs').keep, HOUR);
    await pass(SECOND);

    expect([machine.kept, machine.events$]).toEqual(['theirs', ['store-error:complete', 'lock-lost:complete']]);
    expect(takeLog()).toHaveLength(2);
  });

  it('keeps its caller waiting for the store once, and not for each of its calls', async () => {
    const { machine, held } = await expired();
    machine.store.script('complete', { does: 9_000 }, { does: 9_000 });
    machine.store.script('acquire', { does: 9_000 });
    const caller = settling(held);
    await pass(STORE_TIMEOUT - 1);
    expect(caller.after()).toBeUndefined();
    await pass(1);
    expect([caller.after(), await isOver(held)]).toEqual([STORE_TIMEOUT, false]);
    await pass(17_000);

    expect([machine.kept, machine.events$, await isOver(held)]).toEqual(['mine', ['stored'], true]);
  });

  it('takes the key again under its own name, and never gives it away in between', async () => {
    const { machine, held } = await expired();
    machine.store.script('acquire', LOST);
    const caller = settling(held);
    await pass(STORE_TIMEOUT);
    expect([caller.after(), machine.isLocked, machine.store.count('release')]).toEqual([STORE_TIMEOUT, true, 0]);
    expect(await machine.store.memory.acquire('k', 'another', 'print', MINUTE)).toMatchObject({ state: 'in-flight' });
    await pass(200);

    expect([machine.kept, machine.events$.at(-1)]).toEqual(['mine', 'stored']);
    takeLog();
  });

  it('knows its own lock when that has come late', async () => {
    const { machine, held } = await expired();
    machine.store.script('acquire', HANGS);
    settling(held);
    await pass(STORE_TIMEOUT);
    // The first try's lock lands between the two steps of the second one.
    machine.store.script('complete', { does: 'never', answers: 0, value: false });
    await machine.store.memory.acquire('k', held.lock.owner, 'print', MINUTE);
    await pass(200);

    expect([machine.kept, machine.events$.at(-1)]).toEqual(['mine', 'stored']);
    takeLog();
  });

  it('renews the lock that it has taken anew, for as long as it needs it', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: 3_000, maxLockHold: MINUTE }));
    machine.store.memory.clear();
    await machine.takenByAnother('k', 1_500);
    await pass(2_000);
    expect(machine.events$).toEqual(['lock-lost:extend']);
    machine.store.script('complete', { does: 'never', answers: 0, value: false });
    machine.store.always(rejects('down'), 'complete');
    settling(held);
    await pass(30 * SECOND);
    expect(machine.isLocked).toBe(true);
    machine.store.always({}, 'complete');
    await pass(5 * SECOND);

    expect([machine.kept, vi.getTimerCount()]).toEqual(['mine', 0]);
    takeLog();
  });

  it('is recognised in a store that keeps it as JSON, whatever the order of its fields', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    machine.store.script('complete', LOST);
    void held.settle({ keep: { status: 201, headers: {}, body: { a: -0, b: undefined, c: [1] } } });
    machine.store.memory.clear();
    const other = JSON.parse('{"body":{"c":[1],"a":0},"headers":{},"status":201}') as never;
    machine.store.script('acquire', { value: { state: 'completed', fingerprint: 'print', response: other } });
    await pass(STORE_TIMEOUT + 200);

    expect(machine.events$).toEqual(['store-error:complete', 'stored']);
    takeLog();
  });
});
