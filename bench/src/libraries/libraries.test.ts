import { describe, expect, it } from 'vitest';
import { LIBRARY_ROWS, POLICY_ROWS } from '../rows/policies.js';
import { holdfast } from './holdfast.js';
import { callUnder } from './libraries.js';

describe('What is compared', () => {
  it.each(Object.entries(holdfast))('is a call under %s of ours that gives what the work gives', async (_, make) => {
    expect(await make()()).toBe(42);
  });

  const others = [...POLICY_ROWS, ...LIBRARY_ROWS].filter(({ measure }) => measure === 'ratio');

  it.each(others)('is a call of $id that both sides answer alike', async ({ sides }) => {
    const { ours, other } = await sides();

    expect(await other()).toEqual(await ours());
  });

  it('is refused where the library has no such policy', async () => {
    await expect(callUnder('p-retry', 'circuit-breaker')).rejects.toThrow('p-retry has no circuit-breaker');
  });
});
