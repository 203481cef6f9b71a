import { answerOf, type Trial } from './trial.js';

const DAYS_30 = 30 * 86_400_000;

/** How long locks and records live. */
export const TIME_CASES = {
  'gives a record its own time, which nothing extends': async (trial: Trial): Promise<void> => {
    const author = trial.caller(trial.key());
    await author.takes('of a free key', trial.lockTime);
    await author.completes(answerOf('kept'), 'by the owner', trial.recordTime);
    await author.mayDoNothing('by the owner of a record');

    await trial.nearEndOf(trial.recordTime);
    const retry = trial.caller(author.key);
    await retry.findsRecordOf(author, answerOf('kept'), 'of a record that outlives its lock');
    await trial.pastEnd();
    await retry.takes('of a record whose time is over, though extend() was called');
  },

  'frees a lock when its time is over, and keeps its late owner off the next one': async (trial: Trial) => {
    const late = trial.caller(trial.key());
    await late.takes('of a free key', trial.lockTime);
    await trial.nearEndOf(trial.lockTime);
    await trial.caller(late.key).findsLockOf(late, 'of a lock just before its end');
    await late.findsLockOf(late, 'of the owner once more');
    await trial.pastEnd();

    const successor = trial.caller(late.key, late.fingerprint);
    await successor.takes('of a lock whose time is over, however often it was asked for');
    await late.mayDoNothing('by a late owner whose key has been taken');
    await trial.caller(late.key).findsLockOf(successor, 'after the late owner has tried to change it');
    await successor.completes(answerOf('successor'), 'by the successor');
    await late.findsRecordOf(successor, answerOf('successor'), 'by the late owner');
  },

  'lets the owner of a lock that is over change nothing, though nobody has taken it': async (trial: Trial) => {
    const late = trial.caller(trial.key());
    await late.takes('of a free key', trial.lockTime);
    await trial.through(trial.lockTime);
    await late.mayDoNothing('by a late owner');

    const successor = trial.caller(late.key);
    await successor.takes('of a lock whose time is over');
    await trial.caller(late.key).findsLockOf(successor, 'with the fingerprint of the new lock');
  },

  'forgets a record when its time is over': async (trial: Trial): Promise<void> => {
    const author = trial.caller(trial.key());
    await author.takes('of a free key');
    await author.completes(answerOf('old'), 'by the owner', trial.recordTime);
    await trial.nearEndOf(trial.recordTime);
    await trial.caller(author.key).findsRecordOf(author, answerOf('old'), 'of a record just before its end');
    await trial.pastEnd();

    const next = trial.caller(author.key);
    await next.takes('of a record whose time is over');
    await trial.caller(author.key).findsLockOf(next, 'of the lock that took its place');
    await author.mayDoNothing('by the author of a record that is over');
    await next.completes(answerOf('new'), 'by the new owner');
    await trial.caller(author.key).findsRecordOf(next, answerOf('new'), 'of the record that took its place');
  },

  'keeps to times from a millisecond to 30 days': async (trial: Trial): Promise<void> => {
    const short = trial.caller(trial.key());
    const brief = trial.caller(trial.key());
    const long = trial.caller(trial.key());
    const extended = trial.caller(trial.key());
    await Promise.all([brief.takes('of a free key'), extended.takes('of a free key', trial.lockTime)]);
    await short.takes('for a millisecond', 1);
    await brief.completes(answerOf('brief'), 'for a millisecond', 1);
    await long.takes('for 30 days', DAYS_30);
    await extended.extends('for 30 days', DAYS_30);

    await trial.through(trial.lockTime);
    await trial.caller(short.key).takes('of a lock whose only millisecond is over');
    await trial.caller(brief.key).takes('of a record whose only millisecond is over');
    await trial.caller(long.key).findsLockOf(long, 'of a lock of 30 days');
    await trial.caller(extended.key).findsLockOf(extended, 'of a lock that was extended by 30 days');
    await extended.releases('of a lock of 30 days');
    await long.completes(answerOf('long'), 'for 30 days', DAYS_30);
    await trial.intoTheLifeOf(DAYS_30);
    await trial.caller(long.key).findsRecordOf(long, answerOf('long'), 'of a record of 30 days');
  },
} as const;
