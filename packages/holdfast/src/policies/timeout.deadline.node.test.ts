import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { Outcome, outcomeOf } from '../../test/outcome.js';
import { DeadlineExceededError } from '../errors.js';
import { BudgetPolicy } from './budget.js';
import { TimeoutPolicy } from './timeout.js';

useFakeClock();

describe('a limit of the same moment as a deadline whose call is over', () => {
  it('leaves the end to the deadline, a millisecond after it', async () => {
    let inner = new Outcome();
    await new BudgetPolicy(100).execute(() => {
      inner = outcomeOf(new TimeoutPolicy(100).execute(() => new Promise(() => {})));
    });

    await pass(100);
    expect(inner.state).toBe('pending');
    await pass(1);
    expect(inner.value).toBeInstanceOf(DeadlineExceededError);
  });
});
