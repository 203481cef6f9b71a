import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runInsistently, runOn, type PostgresQueryable } from './queryable.js';

const refused = (code: unknown): Error => Object.assign(new Error(`refused: ${String(code)}`), { code });

function scripted(...script: readonly unknown[]): PostgresQueryable & { readonly query: ReturnType<typeof vi.fn> } {
  const query = vi.fn();
  for (const step of script) {
    if (step instanceof Error) query.mockRejectedValueOnce(step);
    else query.mockResolvedValueOnce(step);
  }

  return { query };
}

describe('A statement on the pool', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  it.each(['40001', '40P01'])('is sent again when it fails with %s, which has changed nothing', async (code) => {
    const pool = scripted(refused(code), refused(code), { rows: [{ a: '1' }] });
    const rows = runInsistently(pool)('SELECT $1', [1]);
    await vi.runAllTimersAsync();

    expect(await rows).toEqual([{ a: '1' }]);
    expect(pool.query.mock.calls).toEqual(Array(3).fill(['SELECT $1', [1]]));
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is sent twelve times at most, and rejects with the last error', async () => {
    const errors = Array.from({ length: 12 }, () => refused('40001'));
    const pool = scripted(...errors, { rows: [] });
    const rows = runInsistently(pool)('SELECT 1');
    const rejected = expect(rows).rejects.toBe(errors[11]);
    await vi.runAllTimersAsync();

    await rejected;
    expect(pool.query).toHaveBeenCalledTimes(12);
  });

  it.each(['23505', '55P03', '08006', 'ECONNRESET', 40001, undefined])(
    'is sent once when it fails with %s, which may have changed something',
    async (code) => {
      const error = refused(code);
      const pool = scripted(error, { rows: [] });

      await expect(runInsistently(pool)('SELECT 1')).rejects.toBe(error);
      expect(pool.query).toHaveBeenCalledTimes(1);
    },
  );

  it('rejects when the pool throws at once', async () => {
    const error = new Error('ended');
    const pool = {
      query() {
        throw error;
      },
    };

    await expect(runInsistently(pool)('SELECT 1')).rejects.toBe(error);
  });
});

describe('A statement in the transaction of somebody else', () => {
  it('is sent once, since what fails there has failed the transaction', async () => {
    const error = refused('40001');
    const client = scripted(error, { rows: [] });

    await expect(runOn(client)('SELECT 1')).rejects.toBe(error);
    expect(client.query).toHaveBeenCalledTimes(1);
  });

  it.each([undefined, null, 7, [], { rowCount: 1 }, { rows: 'none' }])(
    'is refused when it is answered with %j',
    async (answer) => {
      await expect(runOn(scripted(answer))('SELECT 1')).rejects.toThrow(
        /^query\(\) answered with .+\. Expected an object with rows, as pg answers\.$/,
      );
    },
  );
});
