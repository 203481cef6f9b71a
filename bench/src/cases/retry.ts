import { handleAll, retry as cockatielRetry } from 'cockatiel';
import { RetryPolicy } from 'holdfast';
import { answerAtOnce, type Sides } from '../sides.js';

/** Three attempts with exponential backoff, of which the first succeeds. */
export function retry(): Sides {
  const ours = new RetryPolicy({ attempts: 3 });
  const theirs = cockatielRetry(handleAll, { maxAttempts: 2 });

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => theirs.execute(answerAtOnce),
    bare: answerAtOnce,
  };
}
