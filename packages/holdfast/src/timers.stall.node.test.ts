import { describe, expect, it } from 'vitest';
import { fire, nextMacrotask, useHeldClock } from '../test/held-clock.js';
import { ManualWork } from '../test/manual-work.js';
import { outcomeOf } from '../test/outcome.js';
import { hang } from '../test/section-work.js';
import { fanOut, optional, TimeoutPolicy } from './index.js';

// Both timers fire in one turn after a hold, and what waits for input comes after that. Where that waits by a timer
// itself, fake ones would put it between the two.

useHeldClock();

/** Fires what is due after 180 and after 200 ms at once, 51 and 31 ms late. */
const release = (): Promise<void> => fire(200, 231);

describe('a limit whose timer fires late', () => {
  it('is over before one around it that is not as late', async () => {
    const section = { a: optional(hang<string>, { timeout: 180, fallback: 'fallback' }) };
    const call = outcomeOf(new TimeoutPolicy(200).execute(() => fanOut(section, { minimum: 0 })));
    await release();
    expect(call.state).toBe('pending');

    await nextMacrotask();
    expect(call.value).toMatchObject({ data: { a: 'fallback' } });
  });

  it('lets one around it be over that is not as late, when it has nothing to say itself', async () => {
    const work = new ManualWork();
    const inner = new TimeoutPolicy(180);
    const call = outcomeOf(new TimeoutPolicy(200).execute(() => inner.execute(work.run).then(() => hang())));
    await release();
    work.call(0).answer('was already there');
    await nextMacrotask();

    expect(call.value).toMatchObject({ timeoutMs: 200 });
  });
});
