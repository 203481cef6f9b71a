import { fallback as cockatielFallback, handleAll } from 'cockatiel';
import { FallbackPolicy } from 'holdfast';
import { answerAtOnce, type Sides } from '../sides.js';

/** A fallback that is not needed. */
export function fallback(): Sides {
  const ours = new FallbackPolicy(() => 0);
  const theirs = cockatielFallback(handleAll, () => 0);

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => theirs.execute(answerAtOnce),
    bare: answerAtOnce,
  };
}
