import { adaptive, Deadline } from 'holdfast';
import { answerAtOnce, type Sides } from '../sides.js';

/** As many in one call as make a nanosecond of each a microsecond of all. */
const TIMES = 1_000;

/** What is read, added up, so that no compiler leaves the reading out. */
let sum = 0;

function repeated(operation: (turn: number) => number): () => Promise<number> {
  return async () => {
    for (let turn = 0; turn < TIMES; turn++) sum += operation(turn);

    return sum;
  };
}

/** How much is left of a deadline, against a loop that reads nothing. */
export function deadlineReads(): Sides {
  const deadline = Deadline.after('1h');

  return { ours: repeated(() => deadline.remaining()), other: repeated((turn) => turn), bare: answerAtOnce };
}

/** A latency that is recorded, and the limit that is read for the next call, against a loop that does neither. */
export function learnedLimits(): Sides {
  const limit = adaptive();
  const recordAndRead = (turn: number): number => {
    limit.record(20 + (turn % 17));

    return limit.limitMs;
  };

  return { ours: repeated(recordAndRead), other: repeated((turn) => turn), bare: answerAtOnce };
}
