import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { pathTo } from '../readme.mjs';
import { readOneOf, readOptions, readWholeNumber } from './command-line.mjs';

const options = { case: { type: 'string' }, quick: { type: 'boolean' } } as const;
const KNOWN = 'Known options: --case, --quick.';

describe('A command line', () => {
  it('is read as Node reads it', () => {
    const { values, positionals } = readOptions({ args: ['a', '--case', 'b'], options, allowPositionals: true });

    expect([values, positionals]).toEqual([{ case: 'b' }, ['a']]);
  });

  it.each([
    [['--nope', '1'], `Unknown option '--nope'. ${KNOWN}`],
    [['--case'], `Option '--case <value>' argument missing. ${KNOWN}`],
    [['--case', '-1'], `Option '--case' has no value: what follows begins with a dash. ${KNOWN}`],
    [['--case', '--quick'], `Option '--case' has no value: what follows begins with a dash. ${KNOWN}`],
    [['--quick=yes'], `Option '--quick' does not take an argument. ${KNOWN}`],
    [['nope'], `Unexpected argument 'nope'. ${KNOWN}`],
  ])('of %j is refused in one line, with the options that there are', (args, message) => {
    expect(() => readOptions({ args, options })).toThrow(new TypeError(message));
  });

  it('is refused alike by a program that takes other words too', () => {
    expect(() => readOptions({ args: ['--nope'], options, allowPositionals: true })).toThrow(
      new TypeError(`Unknown option '--nope'. ${KNOWN}`),
    );
  });

  it.each(['0', '1.5', '1e3', '-1', 'many', '', '11'])('has no number in "%s" for 1 to 10', (given) => {
    expect(() => readWholeNumber('times', given, { least: 1, most: 10 })).toThrow(
      new TypeError(`--times: expected a whole number from 1 to 10, got ${JSON.stringify(given)}.`),
    );
  });

  it('may have any number up to those that are not exact, where there is no most', () => {
    expect(readWholeNumber('times', '9007199254740991', { least: 0 })).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => readWholeNumber('times', '9007199254740992', { least: 0 })).toThrow(
      new TypeError('--times: expected a whole number of at least 0, got "9007199254740992".'),
    );
  });

  it('has one of the words that an option takes, or none', () => {
    expect(readOneOf('case', 'b', ['a', 'b'])).toBe('b');
    expect(readOneOf('case', undefined, ['a', 'b'])).toBeUndefined();
    expect(() => readOneOf('case', 'c', ['a', 'b'])).toThrow(new TypeError('--case: expected one of a, b, got "c".'));
  });
});

describe('The long runs', () => {
  it('are named by --help', () => {
    const { status, stdout } = spawnSync(process.execPath, [pathTo('tools/soak.mjs'), '--help'], { encoding: 'utf8' });

    expect(status).toBe(0);
    expect(stdout).toMatch(/^npm run soak -- NAME, which is one of page, idempotency, executions;/);
  });
});

describe('A program that cannot read its command line', () => {
  it.each([
    ['tools/mutation/run.mjs', ['--nope'], "Unknown option '--nope'. Known options: --again, --judge."],
    ['tools/mutation/run.mjs', ['nope.ts'], 'nope.ts: expected files within packages/holdfast/src/.'],
    ['tools/api-report.mjs', ['--nope'], "Unknown option '--nope'. Known options: --check."],
    ['tools/docs/sync.mjs', ['--nope'], "Unknown option '--nope'. There are none."],
    [
      'tools/api-report.mjs',
      ['nope'],
      'nope: expected some of packages/holdfast, packages/resilience, packages/idempotency.',
    ],
    ['tools/soak.mjs', ['nope'], 'nope: expected one of page, idempotency, executions.'],
  ])('says so in one line and ends with 1: %s %j', (program, args, line) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [pathTo(program), ...args], { encoding: 'utf8' });

    expect([status, stdout, stderr]).toEqual([1, '', `${line}\n`]);
  });
});
