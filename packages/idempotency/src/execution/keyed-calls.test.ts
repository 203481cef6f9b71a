import { BudgetPolicy, DeadlineExceededError } from 'holdfast';
import { describe, expect, it, vi } from 'vitest';
import { answer, HOUR, Machine, MINUTE, pass, SECOND, STORE_TIMEOUT, takeLog, useMachine } from '../../test/machine.js';
import { HANGS, rejects } from '../../test/scripted-store.js';
import { IdempotencyStoreFullError } from '../stores/store-full-error.js';
import type { Admission } from './keyed-calls.js';
import type { KeyedCall } from './keyed-call.js';
import { IdempotencyRejectedError } from './rejection.js';

useMachine();

const stays = (): boolean => false;

async function refusalOf(asked: Promise<Admission>): Promise<IdempotencyRejectedError> {
  const error: unknown = await asked.then(
    ({ kind }) => kind,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(IdempotencyRejectedError);

  return error as IdempotencyRejectedError;
}

/** What has become of an admission so far. */
function watch(asked: Promise<Admission>): { admission?: Admission; error?: unknown; at?: number } {
  const seen: { admission?: Admission; error?: unknown; at?: number } = {};
  asked.then(
    (admission) => Object.assign(seen, { admission, at: Date.now() }),
    (error: unknown) => Object.assign(seen, { error, at: Date.now() }),
  );

  return seen;
}

describe('A call with a key', () => {
  it('runs its handler when the key is free, and a call of its own owner each time', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    await held.settle({ free: 'outcome' });
    await (await machine.hold()).settle({ free: 'outcome' });

    const owners = machine.store.asked.filter(({ method }) => method === 'acquire').map(({ owner }) => owner);
    expect(new Set(owners).size).toBe(2);
    expect(owners[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('gets the answer that is kept', async () => {
    const machine = new Machine();
    await (await machine.hold()).settle(answer({ id: 1 }));

    expect(await machine.calls.admit(machine.call(), stays)).toEqual({
      kind: 'replay',
      response: { status: 201, headers: {}, body: { id: 1 } },
    });
    expect(machine.told.at(-1)).toEqual({
      type: 'replayed',
      context: 'http',
      handler: 'Payments.create',
      key: 'k',
      status: 201,
    });
  });

  it('is refused while another runs, and told when to come again', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const refusal = await refusalOf(machine.calls.admit(machine.call({ retryAfter: 2_500 }), stays));

    expect(refusal).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE', status: 409, retryAfterSeconds: 3 });
    expect(machine.events$).toEqual(['rejected:IDEMPOTENCY_KEY_IN_USE']);
    await held.settle(answer(1));
  });

  it('of many at once is one that runs: the others are refused, and get its answer later', async () => {
    const machine = new Machine();
    const asked = await Promise.allSettled(
      Array.from({ length: 100 }, () => machine.calls.admit(machine.call(), stays)),
    );
    const admitted = asked.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(admitted.map(({ kind }) => kind)).toEqual(['run']);
    if (admitted[0]?.kind === 'run') await admitted[0].held.settle(answer('one'));

    expect(await machine.calls.admit(machine.call(), stays)).toMatchObject({ response: { body: 'one' } });
  });

  it.each([false, true])(
    'for another request is refused as reused, whether the first has ended or not (%s)',
    async (ended) => {
      const machine = new Machine();
      const held = await machine.hold();
      if (ended) await held.settle(answer('secret'));
      const other = machine.call({ onInFlight: 'wait' }, { fingerprint: 'other' });
      const refusal = await refusalOf(machine.calls.admit(other, stays));

      expect(refusal).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422, retryAfterSeconds: undefined });
      if (!ended) await held.settle(answer(1));
    },
  );

  it('is refused when what is kept cannot be read, until that expires', async () => {
    const machine = new Machine();
    await machine.store.memory.complete('k', await machine.takenByAnother(), { status: 5 } as never, HOUR);
    const refusal = await refusalOf(machine.calls.admit(machine.call(), stays));

    expect(refusal).toMatchObject({ code: 'IDEMPOTENCY_RECORD_UNREADABLE', status: 500 });
    expect(refusal.cause).toBeInstanceOf(Error);
    expect(machine.events$).toEqual(['rejected:IDEMPOTENCY_RECORD_UNREADABLE']);
    expect(takeLog()).toEqual([expect.stringMatching(/^error: .*cannot be read, so the call fails until it expires/)]);
    await pass(HOUR);
    await (await machine.hold()).settle(answer(1));
  });

  it('is refused when a tag of the body cannot be read', async () => {
    const machine = new Machine();
    const body = { __idempotencyType: 'Future', value: 1 };
    await machine.store.memory.complete('k', await machine.takenByAnother(), answer(body).keep, HOUR);

    expect(await refusalOf(machine.calls.admit(machine.call(), stays))).toMatchObject({ status: 500 });
    expect(machine.events$).not.toContain('replayed');
    takeLog();
  });
});

describe('Without its store a call', () => {
  it.each([
    ['rejects', rejects(new Error('down'))],
    ['throws', { throws: new Error('down') }],
    ['answers nonsense', { value: 1 }],
    ['hangs', HANGS],
  ])('is refused with 503 when that %s', async (_what, step) => {
    const machine = new Machine();
    machine.store.script('acquire', step);
    const asked = watch(machine.calls.admit(machine.call({ retryAfter: '2s' }), stays));
    await pass(STORE_TIMEOUT);

    expect(asked.error).toMatchObject({ code: 'IDEMPOTENCY_STORE_UNAVAILABLE', status: 503, retryAfterSeconds: 2 });
    expect((asked.error as Error).cause).toBeInstanceOf(Error);
    expect(machine.events$).toEqual(['store-error:acquire', 'rejected:IDEMPOTENCY_STORE_UNAVAILABLE']);
    expect(takeLog()).toEqual(['error: Payments.create, key k: the store failed in acquire()']);
    expect(machine.running.size).toBe(0);
  });

  it.each(['fail', 'run'] as const)(
    'is in use, and the operator told why, when its lock is over before it is granted (%s)',
    async (onStoreError) => {
      const machine = new Machine();
      machine.store.script('acquire', { answers: 200 });
      const refused = refusalOf(machine.calls.admit(machine.call({ lockTtl: 100, onStoreError }), stays));
      await pass(200);

      expect(await refused).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE', status: 409 });
      expect(machine.events$).toEqual(['store-error:acquire', 'rejected:IDEMPOTENCY_KEY_IN_USE']);
      expect(takeLog()).toEqual(['error: Payments.create, key k: the store failed in acquire()']);
    },
  );

  it("runs unprotected with onStoreError: 'run'", async () => {
    const machine = new Machine();
    machine.store.script('acquire', rejects(new Error('down')));

    expect(await machine.calls.admit(machine.call({ onStoreError: 'run' }), stays)).toEqual({ kind: 'unprotected' });
    expect(machine.events$).toEqual(['store-error:acquire']);
    takeLog();
  });

  it('of another fingerprint is refused all the same, when the store works', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const call = machine.call({ onStoreError: 'run' }, { fingerprint: 'other' });

    expect((await refusalOf(machine.calls.admit(call, stays))).status).toBe(422);
    await held.settle(answer(1));
  });
});

describe('A store that is full', () => {
  it('lets calls run unprotected, warns once, and tells of each', async () => {
    const machine = new Machine();
    machine.store.always(rejects(new IdempotencyStoreFullError(5)), 'acquire');
    for (let time = 0; time < 3; time++) {
      expect(await machine.calls.admit(machine.call(), stays)).toEqual({ kind: 'unprotected' });
    }

    expect(machine.events$).toEqual(['store-error:acquire', 'store-error:acquire', 'store-error:acquire']);
    expect(takeLog()).toEqual([expect.stringMatching(/^warn: .*the store is full.*told once/)]);
  });
});

describe('A duplicate that waits', () => {
  const patient = (machine: Machine, maxWait: number | string = '10s'): KeyedCall =>
    machine.call({ onInFlight: 'wait', maxWait: maxWait as '10s' });

  it("gets the first call's answer, within a second of it", async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const waiting = watch(machine.calls.admit(patient(machine), stays));
    await pass(7_000);
    expect(waiting).toEqual({});
    await held.settle(answer('first'));
    const since = Date.now();
    await pass(SECOND);

    expect(waiting.admission).toMatchObject({ kind: 'replay', response: { body: 'first' } });
    expect((waiting.at as number) - since).toBeLessThanOrEqual(SECOND);
    expect(machine.events$).toEqual(['stored', 'replayed']);
  });

  it('runs itself when the first call has failed', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const waiting = watch(machine.calls.admit(patient(machine), stays));
    await held.settle({ free: 'outcome' });
    await pass(50);

    expect(waiting.admission?.kind).toBe('run');
    if (waiting.admission?.kind === 'run') await waiting.admission.held.settle(answer('second'));
    expect(machine.kept).toBe('second');
  });

  it('runs itself when the process of the first call has died', async () => {
    const machine = new Machine();
    await machine.takenByAnother('k', 3_000);
    const waiting = watch(machine.calls.admit(patient(machine), stays));
    await pass(2_999);
    expect(waiting).toEqual({});
    await pass(1_001);
    if (waiting.admission?.kind === 'run') await waiting.admission.held.settle(answer('second'));

    expect(machine.kept).toBe('second');
  });

  it.each([0, 1, 700, 10_000])('is refused when maxWait of %i ms is over, and not before', async (maxWait) => {
    const machine = new Machine();
    const held = await machine.hold();
    const waiting = watch(machine.calls.admit(patient(machine, maxWait), stays));
    if (maxWait > 0) await pass(maxWait - 1);
    if (maxWait > 0) expect(waiting).toEqual({});
    await pass(maxWait > 0 ? 1 : 0);

    expect(waiting.error).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE', status: 409 });
    await held.settle(answer(1));
  });

  it('does not wait beyond the deadline of the attempt around it', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    let waiting: ReturnType<typeof watch> = {};
    const cut = expect(
      new BudgetPolicy(600).execute(() => {
        const asked = machine.calls.admit(patient(machine), stays);
        waiting = watch(asked);
        return asked;
      }),
    ).rejects.toBeInstanceOf(DeadlineExceededError);
    await pass(599);
    expect(waiting).toEqual({});
    await pass(1);

    await cut;
    expect(waiting.error).toMatchObject({ status: 409 });
    await held.settle(answer(1));
  });

  it('that has left takes no lock, and stops asking', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    let left = false;
    const waiting = watch(machine.calls.admit(patient(machine), () => left));
    await pass(3_000);
    left = true;
    await held.settle({ free: 'outcome' });
    const asked = machine.store.count('acquire');
    await pass(SECOND);

    expect(waiting.error).toBeInstanceOf(IdempotencyRejectedError);
    expect([machine.store.count('acquire'), machine.store.memory.size]).toEqual([asked, 0]);
  });

  it('costs the same however many wait: a look every second, and a timer', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const waiting = Array.from({ length: 50 }, () => watch(machine.calls.admit(patient(machine), stays)));
    await pass(0);
    expect(vi.getTimerCount()).toBe(50 + 1);
    await pass(9_000);
    expect(machine.store.count('acquire') / 50).toBeLessThan(22);
    await held.settle(answer('first'));
    await pass(SECOND);

    expect(waiting.every(({ admission }) => admission?.kind === 'replay')).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps no process alive', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const waiting = watch(machine.calls.admit(patient(machine), stays));
    await pass(0);

    expect(timers.mock.results.every(({ value }) => !(value as NodeJS.Timeout).hasRef())).toBe(true);
    await held.settle(answer(1));
    await pass(50);
    expect(waiting.admission?.kind).toBe('replay');
  });

  it('is refused with 503 when the store fails while it waits', async () => {
    const machine = new Machine();
    const held = await machine.hold();
    const waiting = watch(machine.calls.admit(patient(machine), stays));
    await pass(MINUTE / 60);
    machine.store.always(rejects('down'), 'acquire');
    await pass(SECOND);

    expect(waiting.error).toMatchObject({ status: 503 });
    await held.settle(answer(1));
    takeLog();
  });
});
