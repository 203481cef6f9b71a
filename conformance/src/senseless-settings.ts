import assert from 'node:assert/strict';
import { NotOffered, type Policy } from './adapter.js';
import { observe, type Observed } from './observed.js';
import type { VirtualClock } from './virtual-clock.js';
import { fine } from './works.js';

/** Settings that make no sense are refused when the policy is made, or by its calls. */
export async function assertSettingsRefused(make: () => Policy, clock: VirtualClock): Promise<void> {
  let call: Observed<unknown>;
  try {
    call = observe(make().run(fine));
  } catch (error) {
    if (error instanceof NotOffered) throw error;
    return;
  }

  await clock.settle();
  assert.equal(call.state, 'rejected', `a call with such settings is ${call.state}`);
}
