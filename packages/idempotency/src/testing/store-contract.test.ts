import { AssertionError } from 'node:assert';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IdempotencyStore } from '../store.js';
import { InMemoryIdempotencyStore } from '../stores/memory-store.js';
import { CONTENT_FAULTS } from './content-faults.model.js';
import { idempotencyStoreContract, type IdempotencyStoreContractOptions } from './index.js';
import { OWNERSHIP_FAULTS } from './ownership-faults.model.js';
import { PlainStore } from './plain-store.model.js';
import { RULE } from './planted-fault.model.js';
import { RACE_FAULTS } from './race-faults.model.js';
import { TIME_FAULTS } from './time-faults.model.js';

const PLANTED_FAULTS = [...OWNERSHIP_FAULTS, ...TIME_FAULTS, ...CONTENT_FAULTS, ...RACE_FAULTS];

const advanceTime = (milliseconds: number): void => {
  vi.advanceTimersByTime(milliseconds);
};

/** Whole seconds, so that a store that counts in them is only caught where it counts wrong. */
const BY_HAND: IdempotencyStoreContractOptions = { concurrent: true, advanceTime, lockTime: '4s' };

interface Failure {
  readonly name: string;
  readonly error: unknown;
}

async function failuresOf(
  createStore: () => IdempotencyStore | Promise<IdempotencyStore>,
  options: IdempotencyStoreContractOptions = BY_HAND,
): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  for (const { name, run } of idempotencyStoreContract(createStore, options)) {
    await run().catch((error: unknown) => failures.push({ name, error }));
  }

  return failures;
}

describe('The contract of stores, under a clock moved by hand', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it.each(PLANTED_FAULTS.map((planted) => [planted.fault, planted] as const))(
    'is broken when %s',
    async (_fault, { create, breaks }) => {
      const failures = await failuresOf(create);

      expect(failures.map(({ name }) => name)).toEqual(expect.arrayContaining([...breaks]));
    },
  );

  it('names the method, the case and what was expected', async () => {
    const { create } = PLANTED_FAULTS.find(({ fault }) => fault === 'release() does not look at the owner')!;
    const [failure] = await failuresOf(create);

    expect(failure!.error).toBeInstanceOf(AssertionError);
    expect(failure!.error).toMatchObject({
      message: expect.stringMatching(
        /^release\(\) by a retry with the same fingerprint must resolve to false/,
      ) as string,
      actual: true,
      expected: false,
    });
  });

  it.each([
    ['a plain store', () => new PlainStore()],
    ['the store in memory', () => new InMemoryIdempotencyStore()],
    ['a store that takes its time to be made', () => Promise.resolve(new InMemoryIdempotencyStore())],
  ])('is kept by %s, and no timer is left', async (_name, create) => {
    expect(await failuresOf(create)).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is kept by one store that all cases share, whatever they leave behind', async () => {
    const store = new InMemoryIdempotencyStore();
    const cases = idempotencyStoreContract(() => store, BY_HAND);

    for (const { run } of [...cases, ...cases]) await run();
  });

  it('asks for a store once for each case, when it runs', async () => {
    const create = vi.fn(() => new InMemoryIdempotencyStore());
    const [first, second] = idempotencyStoreContract(create, { advanceTime });
    expect(create).not.toHaveBeenCalled();

    await first!.run();
    await second!.run();
    expect(create).toHaveBeenCalledTimes(2);
  });

  it('has 13 cases, and 19 with concurrency, each by its own name', () => {
    const create = (): IdempotencyStore => new InMemoryIdempotencyStore();
    const names = idempotencyStoreContract(create, { concurrent: true }).map(({ name }) => name);

    expect(new Set(names).size).toBe(19);
    expect(idempotencyStoreContract(create).map(({ name }) => name)).toEqual(names.slice(0, 13));
    expect(idempotencyStoreContract(create, { concurrent: false })).toHaveLength(13);
  });

  it('calls with as many callers at once as it is told', async () => {
    const callersOf = async (concurrent: IdempotencyStoreContractOptions['concurrent']): Promise<number> => {
      const store = new InMemoryIdempotencyStore();
      const acquire = vi.spyOn(store, 'acquire');
      const race = idempotencyStoreContract(() => store, { concurrent, advanceTime })[13];
      await race!.run();

      return acquire.mock.calls.filter(([key]) => key === acquire.mock.calls[0]![0]).length;
    };

    expect([await callersOf(true), await callersOf({ callers: 2 }), await callersOf({ callers: 33 })]).toEqual([
      16, 2, 33,
    ]);
  });
});

describe('The contract of stores, in real time', () => {
  it('is kept by the store in memory', { timeout: 30_000 }, async () => {
    const cases = idempotencyStoreContract(() => new InMemoryIdempotencyStore(), { concurrent: true, lockTime: '2s' });

    await Promise.all(cases.map(({ run }) => run()));
  });

  it('is broken by a store that forgets its records with their locks', { timeout: 15_000 }, async () => {
    const { create } = PLANTED_FAULTS.find(({ fault }) => fault === 'a record has the time of its lock')!;
    const ownTime = idempotencyStoreContract(create, { lockTime: '400ms' }).find(({ name }) => name === RULE.ownTime);

    await expect(ownTime!.run()).rejects.toThrow(AssertionError);
  });

  it('waits for about ten seconds altogether, and for less than four in each case', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const waits: number[] = [];
    for (const { run } of idempotencyStoreContract(() => new InMemoryIdempotencyStore(), { concurrent: true })) {
      const before = Date.now();
      let ended = false;
      const running = run().finally(() => {
        ended = true;
      });
      while (!ended) await vi.advanceTimersByTimeAsync(50);
      await running;
      waits.push(Date.now() - before);
    }
    vi.useRealTimers();

    expect(Math.max(...waits)).toBeLessThan(4_000);
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(8_000);
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(12_000);
  });
});

describe('The options of the contract', () => {
  const create = (): IdempotencyStore => new InMemoryIdempotencyStore();

  it.each([1, 0, -2, 2.5, NaN, Infinity, '16', undefined])('refuse %s callers', (callers) => {
    const concurrent = { callers } as { callers: number };

    expect(() => idempotencyStoreContract(create, { concurrent })).toThrow(RangeError);
    expect(() => idempotencyStoreContract(create, { concurrent })).toThrow(
      /^concurrent\.callers: expected a whole number of at least 2, got /,
    );
  });

  it.each([
    [{ lockTime: 39 }, 'lockTime: expected at least 40ms, got 39.'],
    [{ lockTime: '1y' }, /^lockTime: Invalid duration "1y"/],
    [{ advanceTime: 5 }, 'advanceTime: expected a function, got 5.'],
    [
      { concurrent: 16 },
      /^concurrent: expected an options object, got a number\. For example: \{ callers: 16 \}, or true\./,
    ],
    [{ concurrent: { caller: 16 } }, /^concurrent\.caller: unknown option\. Did you mean "callers"\?/],
    [{ locktime: 100 }, /^locktime: unknown option\. Did you mean "lockTime"\?/],
    [null, /^options: expected an options object, got null\./],
  ])('refuse %j', (options, message) => {
    expect(() => idempotencyStoreContract(create, options as IdempotencyStoreContractOptions)).toThrow(TypeError);
    expect(() => idempotencyStoreContract(create, options as IdempotencyStoreContractOptions)).toThrow(message);
  });

  it('refuse a store in place of a function that makes one', () => {
    const store = new InMemoryIdempotencyStore() as unknown as () => IdempotencyStore;

    expect(() => idempotencyStoreContract(store)).toThrow('createStore: expected a function, got an object.');
  });
});
