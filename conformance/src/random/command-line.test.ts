import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.js';

describe('The command line of random executions', () => {
  it('asks for 20,000 from a seed that is drawn, when it says nothing', () => {
    const { executions, seed, scenario } = readCommandLine([]);

    expect({ executions, scenario }).toEqual({ executions: 20_000, scenario: undefined });
    expect(Number.isInteger(seed)).toBe(true);
  });

  it('may say how many, and from which seed on', () => {
    expect(readCommandLine(['--executions', '1', '--seed', '4711'])).toMatchObject({ executions: 1, seed: 4711 });
  });

  it('takes a scenario as it was printed', () => {
    expect(readCommandLine(['--scenario', '{"calls":[]}']).scenario).toEqual({ calls: [] });
  });

  it('takes a scenario from a file', () => {
    const file = fileURLToPath(new URL('../../package.json', import.meta.url));

    expect(readCommandLine(['--scenario', file]).scenario).toMatchObject({ name: '@holdfast/conformance' });
  });

  it.each(['no-such-file.json', '{"calls":', ''])('refuses "%s" as a scenario', (scenario) => {
    expect(() => readCommandLine(['--scenario', scenario])).toThrow(/^--scenario: expected a scenario as JSON/);
  });

  it.each(['0', '1.5', 'many', ''])('refuses "%s" executions', (executions) => {
    expect(() => readCommandLine(['--executions', executions])).toThrow(/^--executions/);
  });

  it('refuses an unknown option', () => {
    expect(() => readCommandLine(['--seconds', '7'])).toThrow(/--seconds/);
  });
});
