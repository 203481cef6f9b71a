import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.js';

describe('The command line of the soak', () => {
  it('asks for 100,000 pages within ten minutes, of which it needs more than three, when it says nothing', () => {
    expect(readCommandLine([])).toEqual({ requests: 100_000, seconds: 600 });
  });

  it('may ask for fewer, or for longer', () => {
    expect(readCommandLine(['--requests', '20000', '--seconds', '1200'])).toEqual({ requests: 20_000, seconds: 1_200 });
  });

  it.each(['0', '1.5', 'many', '', '10000001'])('refuses "%s" requests', (requests) => {
    expect(() => readCommandLine(['--requests', requests])).toThrow(/^--requests/);
  });

  it.each(['0', '1.5', 'long', '', '86401'])('refuses "%s" seconds, of which no heap could be judged', (seconds) => {
    expect(() => readCommandLine(['--seconds', seconds])).toThrow(
      new TypeError(`--seconds: expected a whole number from 1 to 86400, got ${JSON.stringify(seconds)}.`),
    );
  });

  it('refuses an unknown option', () => {
    expect(() => readCommandLine(['--pages', '7'])).toThrow(/--pages/);
  });
});
