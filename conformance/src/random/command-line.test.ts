import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readCommandLine } from './command-line.js';
import { scenarioOf } from './generate.js';

const PRINTED = JSON.stringify(scenarioOf(1));
const OTHER_FILE = fileURLToPath(new URL('../../package.json', import.meta.url));

describe('The command line of random executions', () => {
  it('asks for 20,000 from a seed that is drawn, when it says nothing', () => {
    const { seed, ...others } = readCommandLine([]);

    expect(others).toEqual({ executions: 20_000, processes: 1, scenario: undefined });
    expect(Number.isInteger(seed)).toBe(true);
  });

  it('may say how many, and from which seed on', () => {
    expect(readCommandLine(['--executions', '1', '--seed', '4711'])).toMatchObject({ executions: 1, seed: 4711 });
  });

  it('may share them between processes, of which each has one to play', () => {
    expect(readCommandLine(['--executions', '3', '--processes', '2'])).toMatchObject({ processes: 2 });
    expect(readCommandLine(['--executions', '3', '--processes', '4'])).toMatchObject({ processes: 3 });
    expect(() => readCommandLine(['--processes', '0'])).toThrow(/^--processes/);
  });

  it('takes a scenario as it was printed', () => {
    expect(readCommandLine(['--scenario', PRINTED]).scenario).toEqual(JSON.parse(PRINTED));
  });

  it('takes a scenario from a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-scenario-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'scenario.json');
    writeFileSync(file, PRINTED);

    expect(readCommandLine(['--scenario', file]).scenario).toEqual(JSON.parse(PRINTED));
  });

  it.each(['no-such-file.json', OTHER_FILE, '{"steps":', '{"steps":[]}', '[]', ''])(
    'refuses "%s" as a scenario',
    (scenario) => {
      expect(() => readCommandLine(['--scenario', scenario])).toThrow(/^--scenario: expected a scenario as JSON/);
    },
  );

  it.each(['0', '1.5', 'many', ''])('refuses "%s" executions', (executions) => {
    expect(() => readCommandLine(['--executions', executions])).toThrow(/^--executions/);
  });

  it('refuses an unknown option', () => {
    expect(() => readCommandLine(['--seconds', '7'])).toThrow(/--seconds/);
  });
});
