import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readCommandLine } from './command-line.js';

describe('The command line of the load', () => {
  it('asks for forty seconds with seed 1, when it says nothing', () => {
    expect(readCommandLine([])).toEqual({ seed: 1, seconds: 40, fault: undefined, plot: undefined, write: false });
  });

  it('may say how long, in which order, with which fault, and where the results go', () => {
    const args = ['--seconds', '300', '--seed', '7', '--fault', 'cuts-late', '--plot', 'load.svg', '--write'];

    vi.stubEnv('INIT_CWD', undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    const plot = join(process.cwd(), 'load.svg');

    expect(readCommandLine(args)).toEqual({ seed: 7, seconds: 300, fault: 'cuts-late', plot, write: true });
  });

  it('goes by the folder where it was called, and refuses a plot in one that is not there', () => {
    vi.stubEnv('INIT_CWD', tmpdir());
    onTestFinished(() => void vi.unstubAllEnvs());

    expect(readCommandLine(['--plot', 'load.svg']).plot).toBe(join(tmpdir(), 'load.svg'));
    expect(() => readCommandLine(['--plot', 'nowhere/load.svg'])).toThrow(
      new TypeError('--plot: expected a file in a folder that is there, got "nowhere/load.svg".'),
    );
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
