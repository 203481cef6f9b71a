import { describe, expect, it } from 'vitest';
import { Steps } from '../lib/steps.js';

describe('a step', () => {
  it('whose declaration cannot be used is a fault of ours: nothing is refused or reported for it', async () => {
    const steps = new Steps({ budget: 1_500, reserve: 800, signal: new AbortController().signal });
    const step = { name: 'geo', onFailure: 'open', fallback: null, timeout: -1 } as const;

    await expect(steps.run(step, () => ({ country: 'CH' }))).rejects.toThrow(TypeError);
    expect(steps.degraded).toEqual([]);
  });
});
