import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { describe, expect, it, vi } from 'vitest';
import { answer, Machine, takeLog, useMachine } from '../../test/machine.js';

useMachine();

const KEY = 'order-4711';
const HASH = `sha256:${createHash('sha256').update(KEY).digest('hex').slice(0, 16)}`;

describe('A key', () => {
  it.each([
    [false, HASH],
    [true, KEY],
  ])('is hashed in events and logs unless exposeKeys is set (%s)', async (exposeKeys, shown) => {
    const machine = new Machine({ exposeKeys });
    const call = machine.call({}, { key: KEY, scope: 'user-7' });
    machine.store.script('complete', { value: false, does: 'never', answers: 0 });
    machine.store.script('acquire', {}, { value: { state: 'in-flight', fingerprint: 'print' } });
    await (await machine.hold(call)).settle(answer(1));

    expect(machine.told).toEqual([
      {
        type: 'lock-lost',
        phase: 'complete',
        context: 'http',
        handler: 'Payments.create',
        key: shown,
        scope: 'user-7',
      },
    ]);
    expect(takeLog()).toEqual([expect.stringContaining(`Payments.create, key ${shown}: `)]);
    expect(JSON.stringify(machine.told).includes(KEY)).toBe(exposeKeys);
  });
});

describe('With nobody listening', () => {
  it('no event is made, and no key is hashed', async () => {
    const machine = new Machine({ exposeKeys: false });
    const quiet = { ...machine.call(), handler: 'Payments.create' };
    const key = vi.fn(() => KEY);
    Object.defineProperty(quiet, 'key', { get: key });
    vi.spyOn(machine.events, 'isHeard').mockReturnValue(false);
    await (await machine.hold(quiet)).settle(answer(1));
    await machine.calls.admit(quiet, () => false);

    expect([key.mock.calls.length, machine.told]).toEqual([0, []]);
  });

  it('on one channel, the others stay silent', async () => {
    const machine = new Machine();
    machine.events.close();
    const heard: unknown[] = [];
    const listener = (event: unknown): void => void heard.push(event);
    channel('nestjs:idempotency:stored').subscribe(listener);
    await (await machine.hold()).settle(answer(1));
    await machine.calls.admit(machine.call(), () => false);
    channel('nestjs:idempotency:stored').unsubscribe(listener);

    expect(heard).toMatchObject([{ type: 'stored', status: 201 }]);
  });
});
