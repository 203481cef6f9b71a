import { of, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeLog, useLog } from '../../test/machine.js';
import { ProtectedHandler } from '../../test/protected-handler.js';

const MEGABYTE = 1_048_576;
const CALLS_PER_ROUND = 20_000;

beforeEach(useLog);
afterEach(() => void takeLog());

async function heapUsed(): Promise<number> {
  for (let time = 0; time < 3; time++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  return process.memoryUsage().heapUsed;
}

/** Until a caller has its answer. */
function answered(handler: ProtectedHandler, index: number): Promise<unknown> {
  const answers = handler.answers(() => (index % 3 === 0 ? throwError(() => new Error('no')) : of({ id: index })));

  return new Promise((resolve) => answers.subscribe({ error: resolve, complete: () => resolve(undefined) }));
}

describe('A hundred thousand calls', () => {
  it('leave nothing: no call, no record whose time is over, no memory', { timeout: 60_000 }, async () => {
    const handler = new ProtectedHandler({ ttl: 1 });
    const round = async (): Promise<void> => {
      for (let index = 0; index < CALLS_PER_ROUND; index++) {
        handler.keyReading = { kind: 'key', key: `k${index}` };
        await answered(handler, index);
      }
      handler.told.splice(0);
      handler.store.asked.splice(0);
    };
    await round();
    const before = await heapUsed();
    for (let time = 0; time < 5; time++) await round();

    expect(handler.running.size).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(handler.store.memory.size).toBe(0);
    expect((await heapUsed()) - before).toBeLessThan(2 * MEGABYTE);
    expect(takeLog()).toEqual([]);
  });
});
