import { bulkhead } from 'cockatiel';
import { BulkheadPolicy } from 'holdfast';
import OpossumBreaker from 'opossum';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

const hang = (): Promise<never> => new Promise(() => {});

function ourFullBulkhead(): Call {
  const policy = new BulkheadPolicy({ maxConcurrent: 1 });
  void policy.execute(hang);

  return () => policy.execute(answerAtOnce);
}

/** The refusal of a full bulkhead without a queue, against cockatiel's. */
export function fullBulkheadOverCockatiel(): Sides {
  const theirs = bulkhead(1, 0);
  void theirs.execute(hang);

  return { ours: ourFullBulkhead(), other: () => theirs.execute(answerAtOnce), bare: answerAtOnce, refuses: true };
}

/** The refusal of a full bulkhead, against opossum's semaphore. */
export function fullBulkheadOverOpossum(): Sides {
  // Opossum counts refusals as failures: without a volume threshold its breaker would open and answer instead.
  const theirs = new OpossumBreaker(hang, {
    timeout: false,
    capacity: 1,
    volumeThreshold: Number.MAX_SAFE_INTEGER,
  });
  void theirs.fire();

  return {
    ours: ourFullBulkhead(),
    other: () => theirs.fire(),
    bare: answerAtOnce,
    refuses: true,
  };
}
