import { describe, expect, it } from 'vitest';
import { readSeed } from './command-line.js';

describe('the command line of the simulation', () => {
  it('takes a seed, or is content with the first', () => {
    expect(readSeed([])).toBe(1);
    expect(readSeed(['--seed', '42'])).toBe(42);
    expect(readSeed(['--seed=0'])).toBe(0);
  });

  it.each(['-1', '1.5', 'x', '', '4294967296'])('refuses "%s" as a seed', (seed) => {
    expect(() => readSeed([`--seed=${seed}`])).toThrow('--seed: expected a whole number from 0 to 4294967295, got');
  });

  it('refuses an unknown option', () => {
    expect(() => readSeed(['--sede', '1'])).toThrow(/--sede/);
  });
});
