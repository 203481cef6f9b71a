import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { outcomeOf } from '../test/outcome.js';
import { BulkheadPolicy, CircuitBreakerPolicy, ResiliencePolicy, TimeoutPolicy } from './index.js';
import { runInScope } from './scope.js';

useFakeClock();

const hang = (): Promise<never> => new Promise(() => {});
const inScope = <T>(work: () => T): T => runInScope({ signal: new AbortController().signal }, work);

/** A call that runs, and never ends. */
const runs = (): Promise<unknown> => quietly(new BulkheadPolicy().execute(hang));

/** A call that waits in a queue, and never gets its turn. */
function waits(): Promise<unknown> {
  const bulkhead = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });
  outcomeOf(bulkhead.execute(hang, { detached: true }));

  return quietly(bulkhead.execute(hang));
}

function quietly(call: Promise<unknown>): Promise<unknown> {
  outcomeOf(call);

  return call;
}

/** How many failures a breaker counts when work that hangs is cut by a timeout. */
async function failuresOf(work: () => unknown): Promise<number> {
  const breaker = new CircuitBreakerPolicy();
  outcomeOf(ResiliencePolicy.wrap(breaker, new TimeoutPolicy(100)).execute(work));
  await pass(100);

  return breaker.stats.failures;
}

describe('the time that calls in a scope opened by hand wait in our queues', () => {
  it('is not the time of the dependency while all of them wait', async () => {
    expect(await failuresOf(() => inScope(() => Promise.all([waits(), waits()])))).toBe(0);
    expect(await failuresOf(() => inScope(() => inScope(() => waits())))).toBe(0);
  });

  it('is the time of the dependency while one of them runs', async () => {
    expect(await failuresOf(() => inScope(() => Promise.all([waits(), runs()])))).toBe(1);
    expect(await failuresOf(() => Promise.all([inScope(() => waits()), runs()]))).toBe(1);
  });

  it('ends for the attempt around with the scope', async () => {
    const leaves = (): Promise<unknown> => {
      inScope(() => void waits());
      return runs();
    };

    expect(await failuresOf(leaves)).toBe(1);
  });
});

describe('a thenable that a function in a scope opened by hand returns', () => {
  it('is not begun by the scope', async () => {
    let begun = 0;
    const query: PromiseLike<string> = {
      then: (...listeners) => {
        begun += 1;
        return Promise.resolve('rows').then(...listeners);
      },
    };

    expect(await inScope(() => query)).toBe('rows');
    expect(begun).toBe(1);
  });
});
