import { bulkhead as cockatielBulkhead } from 'cockatiel';
import { BulkheadPolicy } from 'holdfast';
import { answerAtOnce, type Sides } from '../sides.js';

/** A bulkhead with free slots. */
export function bulkhead(): Sides {
  const ours = new BulkheadPolicy({ maxConcurrent: 10, maxQueue: 10 });
  const theirs = cockatielBulkhead(10, 10);

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => theirs.execute(answerAtOnce),
    bare: answerAtOnce,
  };
}
