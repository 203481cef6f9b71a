import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallsInFlight, TrackedPermit } from './calls-in-flight.js';

const SLOW = 10;

type Step = { readonly kind: 'enter' } | { readonly kind: 'leave'; readonly which: number } | { readonly kind: 'pass' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constant({ kind: 'enter' } as const),
  fc.record({ kind: fc.constant('leave' as const), which: fc.nat(9) }),
  fc.constant({ kind: 'pass' } as const),
);

describe('calls in flight', () => {
  it('are slow when they have run for long enough, whoever left before, between and after them', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
        const calls = new CallsInFlight();
        const inside: TrackedPermit[] = [];
        let time = 0;
        for (const next of steps) {
          if (next.kind === 'pass') time += 3;
          if (next.kind === 'enter') inside.push(new TrackedPermit({}, time, 0));
          if (next.kind === 'enter') calls.add(inside.at(-1) as TrackedPermit);
          const [gone] = next.kind === 'leave' ? inside.splice(next.which % Math.max(1, inside.length), 1) : [];
          if (gone !== undefined) calls.remove(gone);

          calls.advance(time, SLOW);
          expect(calls.slow).toBe(inside.filter(({ enteredAt }) => time - enteredAt >= SLOW).length);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
