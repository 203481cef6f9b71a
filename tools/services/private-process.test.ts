import { describe, expect, it } from 'vitest';
import { verdictOnProgram } from './private-process.js';

describe('Tests that start a server by themselves', () => {
  it('run where it is installed', () => {
    expect(verdictOnProgram({ command: process.execPath, package: 'nodejs' }, {})).toEqual({ run: true });
    expect(verdictOnProgram({ command: 'sh', package: 'dash' }, { REQUIRE_SERVICES: '1' })).toEqual({ run: true });
  });

  it.each([
    ['1', true],
    ['', false],
  ])('are skipped without it, by name, and fail where REQUIRE_SERVICES is "1": "%s" means %s', (value, mustRun) => {
    const program = { command: 'no-such-server', package: 'no-such-package' };

    expect(verdictOnProgram(program, { REQUIRE_SERVICES: value })).toEqual({
      run: false,
      title: 'needs no-such-server; install it with: apt-get install -y no-such-package',
      mustRun,
    });
  });
});
