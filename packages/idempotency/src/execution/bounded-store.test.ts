import { describe, expect, it, vi } from 'vitest';
import { HANGS, LOST, rejects, ScriptedStore, type Method } from '../../test/scripted-store.js';
import { MINUTE, pass, STORE_TIMEOUT, useMachine } from '../../test/machine.js';
import type { IdempotencyAcquireResult, IdempotencyStoredResponse } from '../store.js';
import { BoundedStore, IdempotencyStoreTimeoutError, type LockClaim } from './bounded-store.js';

const CLAIM: LockClaim = { key: 'k', owner: 'me', fingerprint: 'print', lockTtl: MINUTE };
const ANSWER: IdempotencyStoredResponse = { status: 201, headers: {}, body: 1 };

useMachine();

function bounded(timeout = STORE_TIMEOUT): { store: ScriptedStore; bounded: BoundedStore } {
  const store = new ScriptedStore();

  return { store, bounded: new BoundedStore(() => store, timeout) };
}

function ask(store: BoundedStore, method: Method): Promise<unknown> {
  if (method === 'acquire') return store.acquire(CLAIM);
  if (method === 'complete') return store.complete('k', 'me', ANSWER, MINUTE);

  return method === 'release' ? store.release('k', 'me') : store.extend('k', 'me', MINUTE);
}

const METHODS: readonly Method[] = ['acquire', 'complete', 'release', 'extend'];

describe.each(METHODS)('A call of %s()', (method) => {
  it('fails at storeTimeout, and not a millisecond before', async () => {
    const { store, bounded: bound } = bounded();
    store.script(method, HANGS);
    const failed = vi.fn();
    ask(bound, method).catch(failed);

    await pass(STORE_TIMEOUT - 1);
    expect(failed).not.toHaveBeenCalled();
    await pass(1);
    const error = failed.mock.calls[0]?.[0] as IdempotencyStoreTimeoutError;
    expect(error).toBeInstanceOf(IdempotencyStoreTimeoutError);
    expect(error).toMatchObject({ name: 'IdempotencyStoreTimeoutError', method, timeout: STORE_TIMEOUT });
    expect(error.message).toBe(`The idempotency store did not answer ${method}() within 10000ms`);
  });

  it('may throw at once: that is a rejection', async () => {
    const { store, bounded: bound } = bounded();
    const error = new Error('no connection');
    store.script(method, { throws: error });

    await expect(ask(bound, method)).rejects.toBe(error);
  });

  it('fails with what it rejects with, and leaves no timer', async () => {
    const { store, bounded: bound } = bounded();
    store.script(method, rejects('down'));

    await expect(ask(bound, method)).rejects.toBe('down');
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([undefined, null, 'yes', 1, {}, [], { state: 'completed' }, { state: 'in-flight', fingerprint: 5 }])(
    'fails when the answer is none: %j',
    async (value) => {
      const { store, bounded: bound } = bounded();
      store.script(method, { value });

      await expect(ask(bound, method)).rejects.toThrow(`The idempotency store answered ${method}() with`);
    },
  );

  it('keeps no process alive', async () => {
    const { store, bounded: bound } = bounded();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    store.script(method, HANGS);
    const asked = ask(bound, method).catch(() => {});

    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false]);
    await pass(STORE_TIMEOUT);
    await asked;
  });
});

describe('An answer that nobody can hold', () => {
  it('is an error, when reading it throws', async () => {
    const { store, bounded: bound } = bounded();
    const hostile = {
      get state(): string {
        throw new Error('hostile');
      },
    };
    store.script('acquire', { value: hostile });

    await expect(bound.acquire(CLAIM)).rejects.toThrow('hostile');
  });

  it('is not shown: it may hold what a customer has ordered', async () => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', { value: { state: 'done', response: { body: 'secret' } } });

    await expect(bound.acquire(CLAIM)).rejects.not.toThrow('secret');
  });
});

describe('A lock that was not got', () => {
  const releases = (store: ScriptedStore): readonly (readonly [string, string])[] =>
    store.asked.filter(({ method }) => method === 'release').map(({ key, owner }) => [key, owner]);

  it.each([
    ['acquire() rejects', rejects('down')],
    ['acquire() throws', { throws: 'down' }],
    ['acquire() was done and its answer lost to an error', { error: 'reset' }],
    ['acquire() answers nonsense', { value: 'OK' }],
  ])('is released once, by its owner, when %s', async (_when, step) => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', step);

    await expect(bound.acquire(CLAIM)).rejects.toBeDefined();
    await pass(0);
    expect(releases(store)).toEqual([['k', 'me']]);
    expect(store.memory.size).toBe(0);
  });

  it('is released when it comes after all', async () => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', { does: STORE_TIMEOUT + 5 });
    const failed = expect(bound.acquire(CLAIM)).rejects.toBeInstanceOf(IdempotencyStoreTimeoutError);

    await pass(STORE_TIMEOUT);
    await failed;
    expect(releases(store)).toEqual([['k', 'me']]);
    await pass(4);
    expect(store.memory.size).toBe(0);
    await pass(1);
    expect(releases(store)).toHaveLength(2);
    expect(store.memory.size).toBe(0);
  });

  it('is released when its call fails late, since it may have been done before', async () => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', { does: STORE_TIMEOUT + 1, answers: STORE_TIMEOUT + 2, error: 'reset' });
    const failed = expect(bound.acquire(CLAIM)).rejects.toBeInstanceOf(IdempotencyStoreTimeoutError);

    await pass(STORE_TIMEOUT + 1);
    await failed;
    expect(store.memory.size).toBe(1);
    await pass(1);
    expect(store.memory.size).toBe(0);
  });

  it.each<[string, unknown]>([
    ['taken by another', { state: 'in-flight', fingerprint: 'print' }],
    ['an answer', { state: 'completed', fingerprint: 'print', response: ANSWER }],
  ])('is left alone when the late news is that the key has %s', async (_what, value) => {
    const { store, bounded: bound } = bounded();
    await store.memory.acquire('k', 'another', 'print', MINUTE);
    store.script('acquire', { does: STORE_TIMEOUT + 1, value });
    const failed = expect(bound.acquire(CLAIM)).rejects.toBeDefined();

    await pass(STORE_TIMEOUT + 1);
    await failed;
    expect(releases(store)).toEqual([['k', 'me']]);
    expect(store.memory.peek('k')?.state).toBe('in-flight');
  });

  it('does not matter to anybody when its release fails too, in whatever way', async () => {
    const { store, bounded: bound } = bounded();
    store.always(rejects('down'), 'acquire');
    store.script('release', rejects('down'), { throws: 'down' }, HANGS, { value: 'nonsense' });

    for (let time = 0; time < 4; time++) await expect(bound.acquire(CLAIM)).rejects.toBe('down');
    await pass(0);
    expect(store.count('release')).toBe(4);
  });
});

describe('A lock whose answer is slow', () => {
  const acquire = async (answers: number): Promise<{ store: ScriptedStore; found: IdempotencyAcquireResult }> => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', { answers });
    const asked = bound.acquire({ ...CLAIM, lockTtl: 3_000 });
    await pass(answers);

    return { store, found: await asked };
  };

  it('is taken as it is, until it would have been renewed', async () => {
    const { store, found } = await acquire(999);

    expect([found.state, store.count('extend')]).toEqual(['acquired', 0]);
  });

  it('is renewed before anything is done under it', async () => {
    const { store, found } = await acquire(1_000);

    expect([found.state, store.count('extend')]).toEqual(['acquired', 1]);
  });

  it('is none any more when its time was over, which is told with its remedy', async () => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', { answers: 3_000 });
    const failed = expect(bound.acquire({ ...CLAIM, lockTtl: 3_000 })).rejects.toThrow(
      'granted a lock of 3000ms after 3000ms, when it was over: lockTtl is too short for this store',
    );

    await pass(3_000);
    await failed;
    expect(store.memory.size).toBe(0);
  });

  it('is given back when it cannot be renewed', async () => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', { answers: 2_000 });
    store.script('extend', rejects('down'));
    const failed = expect(bound.acquire({ ...CLAIM, lockTtl: 3_000 })).rejects.toBe('down');

    await pass(2_000);
    await failed;
    expect([store.count('release'), store.memory.size]).toEqual([1, 0]);
  });
});

describe('A lock that is wanted in any case', () => {
  it('stays when it comes late', async () => {
    const { store, bounded: bound } = bounded();
    store.script('acquire', LOST);
    const failed = expect(bound.reacquire(CLAIM)).rejects.toBeInstanceOf(IdempotencyStoreTimeoutError);

    await pass(STORE_TIMEOUT);
    await failed;
    expect([store.count('release'), store.memory.peek('k')?.state]).toEqual([0, 'in-flight']);
  });
});

describe('A limit longer than timers are', () => {
  it('ends at the longest that they wait, and not at once', async () => {
    const { store, bounded: bound } = bounded(2 ** 31 - 1);
    store.script('release', HANGS);
    const failed = vi.fn();
    bound.release('k', 'me').catch(failed);

    await pass(2 ** 31 - 2);
    expect(failed).not.toHaveBeenCalled();
    await pass(1);
    expect(failed).toHaveBeenCalledOnce();
  });
});
