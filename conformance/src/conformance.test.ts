import { describe, expect, it } from 'vitest';
import type { Adapter, Policy } from './adapter.js';
import { holdfast } from './adapters/holdfast.js';
import type { Guarantee } from './guarantee.js';
import { GUARANTEES } from './guarantees/index.js';
import { idle } from './idle.js';
import { verdictOf } from './verdict.js';

/** A mutant breaks one guarantee, and what cannot hold without it. */
const LEAST_HELD = 50;

/** As mutants are: policies that are put around each other through their one method only. */
const byHand: typeof holdfast = {
  ...holdfast,
  wrap: (...policies) =>
    holdfast.wrap(...policies.map((policy): Policy => ({ run: (work, signal) => policy.run(work, signal) }))),
};

describe('Our library', () => {
  it.each(GUARANTEES)('$policy: $sentence', async (guarantee) => {
    expect(await verdictOf(guarantee, holdfast)).toEqual({ kind: 'holds' });
  });

  // All guarantees in one test, in turns of the event loop that take real time.
  it(
    'keeps them all when it is put together as mutants are, so that these fail for their fault alone',
    {
      timeout: 60_000,
    },
    async () => {
      for (const guarantee of GUARANTEES) {
        expect([guarantee.id, await verdictOf(guarantee, byHand)]).toEqual([guarantee.id, { kind: 'holds' }]);
      }
    },
  );
});

describe('The scenario of', () => {
  it.each(GUARANTEES)('$id fails a library that is right but for it', async (guarantee) => {
    const mutant = guarantee.mutant(holdfast);

    expect(await verdictOf(guarantee, mutant)).toMatchObject({ kind: 'fails' });
    expect(await countHeld(mutant, nearestFirst(guarantee))).toBe(Math.min(LEAST_HELD, GUARANTEES.length - 1));
  });

  it.each(GUARANTEES)('$id fails a library that does nothing', async (guarantee) => {
    expect(await verdictOf(guarantee, idle)).toMatchObject({ kind: 'fails' });
  });
});

/** All others, beginning with those of the same policy: what is too much for a mutant shows there. */
function nearestFirst({ id, policy }: Guarantee): readonly Guarantee[] {
  const others = GUARANTEES.filter((other) => other.id !== id);

  return [...others.filter((other) => other.policy === policy), ...others.filter((other) => other.policy !== policy)];
}

/** How many hold, of which no more need to be found than {@link LEAST_HELD}. */
async function countHeld(adapter: Adapter, guarantees: readonly Guarantee[]): Promise<number> {
  let held = 0;
  for (const guarantee of guarantees) {
    if (held === LEAST_HELD) break;
    if ((await verdictOf(guarantee, adapter)).kind === 'holds') held += 1;
  }

  return held;
}
