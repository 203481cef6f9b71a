import { TimeoutPolicy } from 'holdfast';
import { withTimeout } from '../floors/timeout.js';
import { withTimeoutInScope } from '../floors/timeout-scope.js';
import { withTimeoutSignal } from '../floors/timeout-signal.js';
import { hasPromiseHooks } from '../promise-hooks.js';
import { answerAtOnce, type Sides } from '../sides.js';

const TIMEOUT_MS = 2_000;

/**
 * A timeout that does not fire, for work that ignores the signal. Our policy opens an ambient attempt; where that is
 * paid for by promise hooks, both sides have paid already, elsewhere the floor opens one too.
 */
export function timeout(): Sides {
  const ours = new TimeoutPolicy(TIMEOUT_MS);
  const floor = hasPromiseHooks ? withTimeout : withTimeoutInScope;

  return {
    ours: () => ours.execute(answerAtOnce),
    other: () => floor(answerAtOnce, TIMEOUT_MS),
    bare: answerAtOnce,
    pendingMs: [TIMEOUT_MS],
  };
}

/** A timeout that does not fire, for work that looks at its signal. */
export function timeoutWithSignal(): Sides {
  const ours = new TimeoutPolicy(TIMEOUT_MS);

  return {
    ours: () => ours.execute(async (context) => context.signal.aborted),
    other: () => withTimeoutSignal(async (signal) => signal.aborted, TIMEOUT_MS),
    bare: answerAtOnce,
    pendingMs: [TIMEOUT_MS],
  };
}
