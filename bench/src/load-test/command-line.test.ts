import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.js';

describe('The command line of the load', () => {
  it('asks for forty seconds with seed 1, when it says nothing', () => {
    expect(readCommandLine([])).toEqual({ seed: 1, seconds: 40, fault: undefined, plot: undefined, write: false });
  });

  it('may say how long, in which order, with which fault, and where the results go', () => {
    const args = ['--seconds', '300', '--seed', '7', '--fault', 'cuts-late', '--plot', 'load.svg', '--write'];

    expect(readCommandLine(args)).toEqual({ seed: 7, seconds: 300, fault: 'cuts-late', plot: 'load.svg', write: true });
  });

  it.each(['5', '601', '7.5', 'long', ''])('refuses "%s" seconds', (seconds) => {
    expect(() => readCommandLine(['--seconds', seconds])).toThrow(
      new TypeError(`--seconds: expected a whole number from 6 to 600, got ${JSON.stringify(seconds)}.`),
    );
  });

  it('refuses a fault that there is none of, and names those that there are', () => {
    expect(() => readCommandLine(['--fault', 'none'])).toThrow(
      /^--fault: expected one of leaks-slots, .*, got "none"\.$/,
    );
  });
});
