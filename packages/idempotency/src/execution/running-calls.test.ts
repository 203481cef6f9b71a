import { describe, expect, it, vi } from 'vitest';
import { answer, Machine, MINUTE, pass, SECOND, takeLog, useMachine } from '../../test/machine.js';
import { rejects } from '../../test/scripted-store.js';

useMachine();

const GRACE = 5_000;

/** After how many milliseconds it was over. */
function draining(machine: Machine, graceMs = GRACE): { readonly after: () => number | undefined } {
  const since = Date.now();
  let until: number | undefined = undefined;
  void machine.running.drain(graceMs).then(() => (until = Date.now()));

  return { after: () => (until === undefined ? undefined : until - since) };
}

describe('A shutdown', () => {
  it('is over at once when nothing runs, and may come twice', async () => {
    const machine = new Machine();
    await machine.running.drain(GRACE);
    await machine.running.drain(GRACE);

    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits for a handler to end, and not longer', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const drained = draining(machine);
    await pass(1_200);
    expect(drained.after()).toBeUndefined();
    await held.settle(answer(1));
    await pass(0);

    expect([drained.after(), machine.kept, vi.getTimerCount()]).toEqual([1_200, 1, 0]);
  });

  it('waits for an outcome that the store does not take yet', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    machine.store.script('complete', rejects('down'), rejects('down'));
    await held.settle(answer('charged'));
    const drained = draining(machine);
    await pass(0);
    expect(drained.after()).toBeUndefined();
    await pass(SECOND);

    expect([(drained.after() as number) < SECOND, machine.kept]).toEqual([true, 'charged']);
    takeLog();
  });

  it('waits for calls that begin meanwhile', async () => {
    const machine = new Machine();
    const first = await machine.hold();
    const drained = draining(machine);
    await pass(100);
    const second = await machine.hold(machine.call({}, { recordKey: 'other' }));
    await first.settle(answer(1));
    await pass(100);
    expect(drained.after()).toBeUndefined();
    await second.settle(answer(2));
    await pass(0);

    expect(drained.after()).toBe(200);
  });

  it('ends with its grace, and holds the process until then', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const drained = draining(machine);
    expect(timers.mock.results.some(({ value }) => (value as NodeJS.Timeout).hasRef())).toBe(true);
    await pass(GRACE - 1);
    expect(drained.after()).toBeUndefined();
    await pass(1);

    expect(drained.after()).toBe(GRACE);
    await held.settle(answer(1));
  });

  it('without a grace does not wait', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const drained = draining(machine, 0);
    await pass(1);

    expect(drained.after()).toBeLessThanOrEqual(1);
    await held.settle(answer(1));
  });

  it('shortens locks at once to five seconds, and keeps them for as long as their handlers really run', async () => {
    const machine = new Machine();
    const since = Date.now();
    const held = await machine.hold(machine.call({ lockTtl: MINUTE }));
    await pass(10);
    machine.running.close();
    machine.running.close();
    await pass(1_666);
    const extended = machine.store.asked.filter(({ method }) => method === 'extend');
    expect(extended.map(({ at, ttl }) => [at - since, ttl])).toEqual([
      [10, 5_000],
      [1_676, 5_000],
    ]);
    await pass(MINUTE);
    expect(machine.isLocked).toBe(true);

    held.lock.letGo();
    await pass(4_999);
    expect(machine.isLocked).toBe(false);
    await held.settle(answer('late'));
    expect(machine.kept).toBe('late');
  });

  it('leaves alone what has been let go', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    await held.settle(answer(1));
    held.lock.shorten();
    await pass(SECOND);

    expect([machine.store.count('extend'), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('leaves alone what is short', async () => {
    const machine = new Machine();
    const short = await machine.hold(machine.call({ lockTtl: 5_000 }));
    machine.running.close();
    await pass(0);
    expect(machine.store.count('extend')).toBe(0);
    await short.settle(answer(1));

    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not ask twice at once when a renewal is on its way', async () => {
    const machine = new Machine();
    const held = await machine.hold(machine.call({ lockTtl: MINUTE }));
    machine.store.script('extend', { answers: 700 });
    await pass(20_000);
    machine.running.close();
    await pass(699);
    expect(machine.store.count('extend')).toBe(1);
    await pass(1);
    expect(machine.store.asked.at(-1)).toMatchObject({ method: 'extend', ttl: 5_000 });
    await held.settle(answer(1));
  });

  it('gives locks that are taken from then on the short time as well', async () => {
    const machine = new Machine();
    machine.running.close();
    const held = await machine.hold(machine.call({ lockTtl: MINUTE }));
    await pass(0);

    expect(machine.store.asked.map(({ method, ttl }) => [method, ttl])).toEqual([
      ['acquire', MINUTE],
      ['extend', 5_000],
    ]);
    await held.settle(answer(1));
  });

  it('sends duplicates away that wait, so that they come again elsewhere', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const refused = expect(
      machine.calls.admit(machine.call({ onInFlight: 'wait', maxWait: MINUTE }), () => false),
    ).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE', retryAfterSeconds: 1 });
    await pass(5_000);
    machine.running.close();
    await pass(SECOND);

    await refused;
    await held.settle(answer(1));
  });

  it('lets what ends after it be recorded', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const drained = draining(machine, 1_000);
    await pass(1_000);
    machine.events.close();
    await pass(MINUTE);
    await held.settle(answer('late'));
    await pass(0);

    expect([drained.after(), machine.kept, machine.running.size]).toEqual([1_000, 'late', 0]);
  });
});
