import { strictEqual } from 'node:assert';
import { answerOf, type Trial } from './trial.js';

/** Who may do what with a lock and a record. */
export const OWNERSHIP_CASES = {
  'takes a free key, and tells everybody else whose it is': async (trial: Trial): Promise<void> => {
    const holder = trial.caller(trial.key());
    await holder.takes('of a free key');
    await trial.caller(holder.key).findsLockOf(holder, 'of a key that another call holds');
    await trial.caller(holder.key, holder.fingerprint).findsLockOf(holder, 'of a retry while the first call runs');
    await holder.findsLockOf(holder, 'of the owner once more');
    await trial.caller(trial.key()).takes('of another key');
  },

  'completes a lock for its owner only': async (trial: Trial): Promise<void> => {
    const holder = trial.caller(trial.key());
    await holder.takes('of a free key');
    // A retry has the holder's fingerprint, and is another call for all that.
    const retry = trial.caller(holder.key, holder.fingerprint);
    await retry.findsLockOf(holder, 'of a retry');
    await expectRefusal(retry.complete(answerOf('retry')), 'complete() by a retry with the same fingerprint');
    await expectRefusal(trial.caller(holder.key).complete(answerOf('stranger')), 'complete() by a stranger');
    await retry.findsLockOf(holder, 'after others have tried to complete it');

    await holder.completes(answerOf('holder'), 'by the owner');
    await retry.findsRecordOf(holder, answerOf('holder'), 'after the owner has completed it');
    await trial.caller(holder.key).findsRecordOf(holder, answerOf('holder'), 'with another fingerprint');
  },

  'never changes a record': async (trial: Trial): Promise<void> => {
    const author = trial.caller(trial.key());
    await author.takes('of a free key');
    await author.completes(answerOf('first'), 'by the owner');
    await author.mayDoNothing('by the owner of a record');
    await trial.caller(author.key, author.fingerprint).mayDoNothing('by a retry that meets a record');
    await trial.caller(author.key).findsRecordOf(author, answerOf('first'), 'after others have tried to change it');
  },

  'releases a lock for its owner only': async (trial: Trial): Promise<void> => {
    const holder = trial.caller(trial.key());
    await holder.takes('of a free key');
    const retry = trial.caller(holder.key, holder.fingerprint);
    await retry.findsLockOf(holder, 'of a retry');
    await expectRefusal(retry.release(), 'release() by a retry with the same fingerprint');
    await expectRefusal(trial.caller(holder.key).release(), 'release() by a stranger');
    await retry.findsLockOf(holder, 'after others have tried to release it');

    await holder.releases('by the owner');
    const next = trial.caller(holder.key);
    await next.takes('of a key that was released');
    await holder.mayDoNothing('by an owner who has released the key');
    await trial.caller(holder.key).findsLockOf(next, 'after the former owner has tried to change it');
  },

  'changes nothing under a key on which there is nothing': async (trial: Trial): Promise<void> => {
    const nobody = trial.caller(trial.key());
    await nobody.mayDoNothing('of a key on which there is nothing');
    const next = trial.caller(nobody.key);
    await next.takes('after others have tried to change it');
    await trial.caller(nobody.key).findsLockOf(next, 'of a key that is held now');
  },

  'extends a lock for its owner only': async (trial: Trial): Promise<void> => {
    const holder = trial.caller(trial.key());
    await holder.takes('of a free key', trial.lockTime);
    const retry = trial.caller(holder.key, holder.fingerprint);
    await trial.nearEndOf(trial.lockTime);
    await retry.findsLockOf(holder, 'of a retry');
    await holder.extends('by the owner', trial.lockTime);
    await expectRefusal(retry.extend(), 'extend() by a retry with the same fingerprint');
    await expectRefusal(trial.caller(holder.key).extend(), 'extend() by a stranger');

    await trial.nearEndOf(trial.lockTime);
    await retry.findsLockOf(holder, 'of a lock that its owner has extended');
    await trial.pastEnd();
    await retry.takes('of a lock whose extended time is over');
  },
} as const;

async function expectRefusal(answer: Promise<boolean>, what: string): Promise<void> {
  strictEqual(await answer, false, `${what} must resolve to false`);
}
