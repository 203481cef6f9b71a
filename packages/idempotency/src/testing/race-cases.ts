import { deepStrictEqual, strictEqual } from 'node:assert';
import type { IdempotencyAcquireResult } from '../store.js';
import { answerOf, type Caller, type Trial } from './trial.js';

/** One race tells little: which of two calls is first is chance. */
const ROUNDS = 5;

type RaceCase = (trial: Trial, callers: number) => Promise<void>;

/** What several processes do at the same moment. */
export const RACE_CASES = {
  'gives a free key to one of many callers': async (trial, callers) => {
    for (let round = 0; round < ROUNDS; round++) await race(trial.callers(callers, trial.key()));
  },

  'gives a lock that is over to one of many callers, and nothing to its late owner': async (trial, callers) => {
    const owners = Array.from({ length: ROUNDS }, () => trial.caller(trial.key()));
    await Promise.all(owners.map((owner) => owner.takes('of a free key', trial.lockTime)));
    await trial.through(trial.lockTime);
    for (const owner of owners) {
      const [, written] = await Promise.all([
        race(trial.callers(callers, owner.key)),
        owner.complete(answerOf('late')),
      ]);
      strictEqual(written, false, 'complete() by a late owner, amid others who take the key, must resolve to false');
    }
  },

  'gives a record that is over to one of many callers': async (trial, callers) => {
    const authors = Array.from({ length: ROUNDS }, () => trial.caller(trial.key()));
    for (const author of authors) {
      await author.takes('of a free key');
      await author.completes(answerOf('over'), 'by the owner', trial.lockTime);
    }
    await trial.through(trial.lockTime);
    for (const author of authors) await race(trial.callers(callers, author.key));
  },

  'gives each of many keys to one of many callers': async (trial, callers) => {
    const keys = Array.from({ length: callers }, () => trial.key());
    const crowds = keys.map((key) => trial.callers(callers, key));
    // The first of every crowd, then the second of every crowd: the keys get into each other's way, if they can.
    const turns = Array.from({ length: callers }, (_, turn) => crowds.map((crowd) => crowd[turn]!.acquire()));
    const results = await Promise.all(turns.map((turn) => Promise.all(turn)));
    for (const [index, crowd] of crowds.entries()) {
      judge(
        crowd,
        results.map((turn) => turn[index]!),
      );
    }
  },

  'releases a lock amid callers of whom at most one gets it': async (trial, callers) => {
    for (let turn = 0; turn <= callers; turn++) {
      const holder = trial.caller(trial.key());
      await holder.takes('of a free key');
      const crowd = trial.callers(callers, holder.key);
      const [released, winner] = await amid(crowd, { holder, act: () => holder.release(), turn });
      strictEqual(released, true, 'release() by the owner, amid others who want the key, must resolve to true');

      const next = trial.caller(holder.key);
      if (winner === undefined) await next.takes('after a release that nobody was waiting for');
      else await next.findsLockOf(winner, 'after a release');
    }
  },

  'completes a lock amid callers of whom nobody gets it': async (trial, callers) => {
    for (let turn = 0; turn <= callers; turn++) {
      const holder = trial.caller(trial.key());
      await holder.takes('of a free key');
      const crowd = trial.callers(callers, holder.key);
      const answer = answerOf('holder');
      const [completed, winner] = await amid(crowd, { holder, act: () => holder.complete(answer), turn });
      strictEqual(winner?.owner, undefined, 'acquire() while the owner completes the lock must not take it');
      strictEqual(completed, true, 'complete() by the owner, amid others who want the key, must resolve to true');
      await trial.caller(holder.key).findsRecordOf(holder, answer, 'after the owner has completed it');
    }
  },
} as const satisfies Readonly<Record<string, RaceCase>>;

async function race(crowd: readonly Caller[]): Promise<void> {
  judge(crowd, await Promise.all(crowd.map((caller) => caller.acquire())));
}

/** Exactly one gets the key, and every other is told the winner's fingerprint. */
function judge(crowd: readonly Caller[], results: readonly IdempotencyAcquireResult[]): void {
  const [winner, ...others] = winnersOf(crowd, results);
  const count = others.length + (winner === undefined ? 0 : 1);
  strictEqual(count, 1, `acquire() by ${crowd.length} callers at once must let exactly one take the lock`);

  const expected = { state: 'in-flight', fingerprint: winner?.fingerprint };
  for (const result of results) {
    if (result.state === 'acquired') continue;
    deepStrictEqual(
      result,
      expected,
      'acquire() by those who come second must find the fingerprint of the one who won',
    );
  }
}

function winnersOf(crowd: readonly Caller[], results: readonly IdempotencyAcquireResult[]): readonly Caller[] {
  return crowd.filter((_, index) => results[index]?.state === 'acquired');
}

interface Deed {
  readonly holder: Caller;
  readonly act: () => Promise<boolean>;
  /** How many of the crowd come first. */
  readonly turn: number;
}

/** The holder acts amid a crowd that wants the key: what he was told, and who got the key, if anybody did. */
async function amid(
  crowd: readonly Caller[],
  { holder, act, turn }: Deed,
): Promise<readonly [told: boolean, winner: Caller | undefined]> {
  const before = crowd.slice(0, turn).map((caller) => caller.acquire());
  const acted = act();
  const after = crowd.slice(turn).map((caller) => caller.acquire());
  const [told, results] = await Promise.all([acted, Promise.all([...before, ...after])]);
  const winners = winnersOf(crowd, results);
  strictEqual(winners.length <= 1, true, 'acquire() amid a change by the owner must let at most one take the lock');

  const known = [holder, ...winners].map(({ fingerprint }) => fingerprint);
  for (const result of results) {
    if (result.state === 'acquired') continue;
    const message = 'acquire() amid a change by the owner must find the fingerprint of the owner or of the one who won';
    strictEqual(known.includes(result.fingerprint), true, message);
  }

  return [told, winners[0]];
}
