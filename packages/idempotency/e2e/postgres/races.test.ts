import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { describeWith } from '../../../../tools/services/services.js';
import { ownDatabase } from '../fixtures/postgres.js';

const LOCK = 10_000;
const answer = (body: unknown) => ({ status: 200, headers: {}, body });

const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;

describeWith('postgres', 'PostgreSQL, when many want one key', () => {
  const database = ownDatabase();

  beforeAll(() => new PostgresIdempotencyStore(database.admin).ensureSchema());

  for (const level of LEVELS) {
    const storeAt = () => {
      const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
      return new PostgresIdempotencyStore(database.pool({ options }), { pruneEvery: false });
    };

    it(`gives a free key to one of 64 callers on 16 connections, and the others its fingerprint: ${level}`, async () => {
      const store = storeAt();
      for (let round = 0; round < 4; round += 1) {
        const key = randomUUID();
        const answers = await Promise.all(
          Array.from({ length: 64 }, async (_, caller) => ({
            caller,
            found: await store.acquire(key, randomUUID(), `fingerprint of ${caller}`, LOCK),
          })),
        );

        const winners = answers.filter(({ found }) => found.state === 'acquired');
        expect(winners).toHaveLength(1);
        const stored = { state: 'in-flight', fingerprint: `fingerprint of ${winners[0]?.caller}` };
        expect(answers.filter((one) => one !== winners[0]).map(({ found }) => found)).toEqual(Array(63).fill(stored));
      }
    });

    it(`gives what has expired to one of 64 callers, and the others the new fingerprint: ${level}`, async () => {
      const store = storeAt();
      const old = { status: 200, headers: {}, body: 'old' };
      for (let round = 0; round < 4; round += 1) {
        const key = randomUUID();
        await store.acquire(key, 'first', 'old fingerprint', LOCK);
        if (round % 2 === 0) await store.complete(key, 'first', old, 1);
        else await store.extend(key, 'first', 1);
        await sleep(5);
        const answers = await Promise.all(
          Array.from({ length: 64 }, () => store.acquire(key, randomUUID(), 'new fingerprint', LOCK)),
        );

        expect(answers.filter(({ state }) => state === 'acquired')).toHaveLength(1);
        expect(answers.filter(({ state }) => state !== 'acquired')).toEqual(
          Array(63).fill({ state: 'in-flight', fingerprint: 'new fingerprint' }),
        );
        expect(await store.complete(key, 'first', old, LOCK)).toBe(false);
      }
    });

    it(`always answers while the key is taken, freed and stored without a pause: ${level}`, async () => {
      const store = storeAt();
      const key = randomUUID();
      let holders = 0;
      let most = 0;
      let runs = 0;
      const caller = async (name: string): Promise<void> => {
        for (let turn = 0; turn < 20; turn += 1) {
          const owner = randomUUID();
          const found = await store.acquire(key, owner, name, LOCK);
          if (found.state !== 'acquired') continue;
          runs += 1;
          holders += 1;
          most = Math.max(most, holders);
          await sleep(1);
          holders -= 1;
          const ended = turn % 3 === 0 ? store.complete(key, owner, answer(name), 1) : store.release(key, owner);
          expect(await ended).toBe(true);
        }
      };
      await Promise.all(Array.from({ length: 16 }, (_, number) => caller(`caller ${number}`)));

      expect(most).toBe(1);
      expect(runs).toBeGreaterThan(0);
    });
  }

  it('lets one owner have the key once, however often it asks at the same moment', async () => {
    const store = new PostgresIdempotencyStore(database.pool());
    for (let round = 0; round < 10; round += 1) {
      const key = randomUUID();
      const answers = await Promise.all(Array.from({ length: 16 }, () => store.acquire(key, 'one', 'same', LOCK)));

      expect(answers.filter(({ state }) => state === 'acquired')).toHaveLength(1);
    }
  });
});

describeWith('postgres', 'PostgreSQL, by its own clock', () => {
  const database = ownDatabase();

  beforeAll(() => new PostgresIdempotencyStore(database.admin).ensureSchema());
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => vi.useRealTimers());

  it.each([
    ['behind', -60_000],
    ['ahead', 60_000],
  ])('keeps the times of an application whose clock is a minute %s', async (_, off) => {
    const store = new PostgresIdempotencyStore(database.pool());
    const key = randomUUID();
    vi.setSystemTime(Date.now() + off);

    expect(await store.acquire(key, 'a', 'f', 10_000)).toEqual({ state: 'acquired' });
    vi.setSystemTime(Date.now() - off);
    expect(await store.acquire(key, 'b', 'f', 10_000)).toEqual({ state: 'in-flight', fingerprint: 'f' });
    vi.setSystemTime(Date.now() + off);
    expect(await store.extend(key, 'a', 150)).toBe(true);
    await sleep(200);
    expect(await store.acquire(key, 'b', 'g', 10_000)).toEqual({ state: 'acquired' });
    expect(await store.complete(key, 'b', answer(1), 10_000)).toBe(true);
    vi.setSystemTime(Date.now() - off);
    expect(await store.acquire(key, 'c', 'g', 150)).toMatchObject({ state: 'completed', fingerprint: 'g' });
    expect(await store.prune()).toBe(0);
  });
});
