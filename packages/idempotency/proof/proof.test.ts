import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { verdictOnProgram } from '../../../tools/services/private-process.js';
import { describeOn, describeWith, without } from '../../../tools/services/services.js';
import { casesOf, type CaseName } from './cases.js';
import type { Fault, StoreName } from './server/server-settings.js';
import { postgresPrograms } from './store/owned-server.js';

const PROOF = fileURLToPath(new URL('dist/main.js', import.meta.url));
const LONGEST_CASE_MS = 90_000;
const SEED = 20_261_130;

interface Printed {
  readonly exitCode: number;
  readonly output: string;
}

function prove(...options: readonly string[]): Promise<Printed> {
  return new Promise((resolve) => {
    const args = [PROOF, '--seed', `${SEED}`, ...options];
    execFile(process.execPath, args, { timeout: LONGEST_CASE_MS }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
  });
}

function counted(output: string, name: string): number {
  return Number(new RegExp(`\\b${name}:? (\\d+)`).exec(output)?.[1]);
}

/** What a case would be empty without. */
const MUST_HAPPEN: Readonly<Record<CaseName, readonly string[]>> = {
  calm: ['conflicts'],
  kills: ['kills', 'freezes'],
  'joined-kills': ['kills', 'freezes'],
  outages: ['outages', 'unavailable'],
  'joined-outages': ['outages', 'unavailable'],
  clocks: ['kills'],
};

/** A store goes through each case with servers, clients and faults of its own. */
function casesFor(store: StoreName): void {
  const sums = { requests: 0, kills: 0, cases: 0 };
  const titles: Readonly<Record<CaseName, string>> = {
    calm: 'without faults, every key has one effect, and every other answer is its replay or a 409',
    kills: 'what it has acknowledged stays so when servers are killed and stand still, and no key stays blocked',
    'joined-kills': 'with a joined transaction, effects equal keys, whatever is killed when',
    outages:
      'while it stands still, dies, is slow and loses connections, answers are the documented ones and none is lost',
    'joined-outages': 'the same with a joined transaction',
    clocks: 'clocks of the servers that are hours apart, and step by an hour, change nothing',
  };

  it.each(casesOf(store).map((name) => [titles[name], name] as const))(
    '%s',
    async (_title, name) => {
      const { output, exitCode } = await prove('--store', store, '--case', name);
      expect(output).toContain(`${store}, ${name}, seed ${SEED}: `);
      expect({ output, exitCode, violations: counted(output, 'violations') }).toEqual({
        output,
        exitCode: 0,
        violations: 0,
      });
      expect(counted(output, 'replays')).toBeGreaterThan(0);
      const missing = MUST_HAPPEN[name].filter((event) => !(counted(output, event) > 0));
      expect({ output, missing }).toEqual({ output, missing: [] });
      sums.cases += 1;
      sums.requests += counted(output, 'requests');
      sums.kills += counted(output, 'kills');
    },
    LONGEST_CASE_MS,
  );

  it('all of that in at least 2,000 requests and amid 20 kills', ({ skip }) => {
    skip(sums.cases < casesOf(store).length, 'when only some of the cases are run');
    expect(sums.requests).toBeGreaterThanOrEqual(2_000);
    expect(sums.kills).toBeGreaterThanOrEqual(20);
  });
}

const postgresVerdict =
  postgresPrograms() === undefined
    ? without('needs initdb and postgres; install them with: apt-get install -y postgresql')
    : ({ run: true } as const);
const redisVerdict = verdictOnProgram({ command: 'redis-server', package: 'redis-server' });

describeWith('postgres', 'Proof under faults', () => {
  describeOn(postgresVerdict, 'of the store in PostgreSQL:', () => casesFor('postgres'));

  describeWith('redis', 'of the store in Redis', () => {
    describeOn(redisVerdict, 'that writes each command to its disk:', () => casesFor('redis'));
  });

  describe('finds nothing in a plain store without a fault, and violations in one that', () => {
    const faults: readonly (readonly [string, Fault, CaseName, boolean])[] = [
      ['is right', 'none', 'kills', true],
      ['reads, and then writes', 'read-then-write', 'calm', false],
      ['lets anybody complete a lock', 'complete-without-owner', 'kills', false],
      ['lets anybody release a lock', 'release-without-owner', 'outages', false],
      ['does not look whether a lock is over', 'no-expiry-check', 'kills', false],
      ['forgets in a crash what it has acknowledged', 'forgotten-in-a-crash', 'outages', false],
      ['goes by the clocks of its servers', 'clock-of-the-server', 'clocks', false],
    ];

    it.each(faults)(
      '%s',
      async (_title, fault, name, isRight) => {
        const { output, exitCode } = await prove('--store', 'postgres', '--case', name, '--fault', fault);
        // What a program that falls has not counted is no number, and no violation.
        expect({ output, exitCode, hasViolations: counted(output, 'violations') > 0 }).toEqual({
          output,
          exitCode: isRight ? 0 : 1,
          hasViolations: !isRight,
        });
        expect(counted(output, 'requests')).toBeGreaterThan(0);
      },
      LONGEST_CASE_MS,
    );
  });
});
