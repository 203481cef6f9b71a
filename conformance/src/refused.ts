import assert from 'node:assert/strict';
import { NotOffered, type Policy } from './adapter.js';
import { observe, type Observed } from './observed.js';
import type { VirtualClock } from './virtual-clock.js';

/** Settings that make no sense are refused when the policy is made, or with the first call, which then runs nothing. */
export async function assertRefused(make: () => Policy, clock: VirtualClock): Promise<void> {
  let calls = 0;
  let call: Observed<unknown>;
  try {
    call = observe(make().run(() => void (calls += 1)));
  } catch (error) {
    if (error instanceof NotOffered) throw error;
    return;
  }

  await clock.settle();
  assert.equal(calls, 0, 'its work ran all the same');
  assert.equal(call.state, 'rejected', 'it was neither refused nor did it run');
}
