import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../dist/load-test/main.js', import.meta.url));
const SECONDS = 14;

/** Far above what it takes, since a machine that is busy with something else takes longer for everything. */
const LONGEST_MS = 240_000;

interface Printed {
  readonly exitCode: number;
  readonly output: string;
}

function load(...options: readonly string[]): Promise<Printed> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [PROGRAM, '--seed', '1', ...options],
      { timeout: LONGEST_MS },
      (error, stdout, stderr) => {
        resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
      },
    );
  });
}

/** `holds`, `FAILS` or `UNSURE`, with what is said about it. */
function verdictOn(sentence: string, { output }: Printed): { word: string | undefined; line: string } {
  const line = output.split('\n').find((each) => each.includes(`  ${sentence}`)) ?? output;

  return { word: /^(\w+) /.exec(line)?.[1], line };
}

const IN_TIME = 'No answer is later than its budget and 50 ms';

describe('An application under load, whose dependency is up, slow, hanging, failing and half-broken in turn', () => {
  const folder = mkdtempSync(join(tmpdir(), 'load-'));
  let printed: Printed;

  beforeAll(async () => {
    printed = await load('--seconds', `${SECONDS}`, '--plot', join(folder, 'load.svg'));
  }, LONGEST_MS);
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    'Every request has an answer, of a documented status',
    'Each call that was made is one that the dependency saw, and ended there as it did here',
    'Every attempt is a call or a rejection, and what was rejected is no call',
    'What a breaker has counted is what the dependency has done',
    'A breaker is open when its threshold was reached, and only then',
    'While a breaker is open the dependency is left alone',
    'Half-open, a breaker lets its probes through, no more, and does what they say',
    'Never do more calls run at the dependency than the bulkhead has slots',
    'A bulkhead that is full has all of its slots at work at the dependency',
    'At rest every slot has been given back, and the abandoned calls are those that the dependency still holds',
    'The dependency is never asked for prices more than 20 times and 20 more every 1000 ms',
    'Each answer of a fallback, and each mark on a page, has its event',
    'What was taken on the heap is given back',
    'Sockets and timers are as many as before',
    'No warning, and no rejection that nobody handled',
  ])('%s', (sentence) => {
    expect(verdictOn(sentence, printed), printed.output).toMatchObject({ word: 'holds' });
  });

  it(IN_TIME, ({ skip }) => {
    const { word, line } = verdictOn(IN_TIME, printed);
    skip(word === 'UNSURE', `the machine was late itself: ${line}`);
    expect(word, printed.output).toBe('holds');
  });

  it('The program says with its exit code that all of this holds', () => {
    expect(printed, printed.output).toMatchObject({ exitCode: 0 });
  });

  it('Its plot shows each phase', () => {
    const plot = readFileSync(join(folder, 'load.svg'), 'utf8');

    const shown = ['up', 'slow', 'hanging', 'failing', 'half-broken'].filter((name) => plot.includes(`>${name}<`));
    expect(shown).toHaveLength(5);
  });
});

describe('The same load finds a fault in policies: of', () => {
  it.each([
    ['a bulkhead that gives some slots twice', 'gives-slots-twice', 'Never do more calls run at the dependency'],
    ['a breaker that counts twice', 'counts-twice', 'What a breaker has counted is what the dependency has done'],
  ])(
    '%s',
    async (_title, fault, sentence) => {
      const found = await load('--seconds', '6', '--fault', fault);

      expect(verdictOn(sentence, found), found.output).toMatchObject({ word: 'FAILS' });
      expect(found.exitCode).toBe(1);
    },
    LONGEST_MS,
  );
});
