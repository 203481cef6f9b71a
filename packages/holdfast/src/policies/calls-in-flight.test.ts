import { describe, expect, it } from 'vitest';
import { CallsInFlight, TrackedPermit } from './calls-in-flight.js';

const SLOW = 10;
const era = {};

/** Calls that began in this order, all of them in flight. */
function inFlight(count: number): { calls: CallsInFlight; permits: TrackedPermit[] } {
  const calls = new CallsInFlight();
  const permits = Array.from({ length: count }, () => new TrackedPermit(era, 0, 0));
  permits.forEach((permit) => calls.add(permit));

  return { calls, permits };
}

describe('calls in flight', () => {
  it('go on with those that begin after the latest of them has ended', () => {
    const { calls, permits } = inFlight(2);
    calls.remove(permits[1]!);
    calls.add(new TrackedPermit(era, 0, 0));

    calls.advance(SLOW, SLOW);

    expect(calls.slow).toBe(2);
  });

  it('do not keep a call that ended after its neighbour had', () => {
    const { calls, permits } = inFlight(3);
    calls.remove(permits[1]!);
    calls.remove(permits[2]!);

    calls.advance(SLOW, SLOW);

    expect(calls.slow).toBe(1);
  });

  it('go on with the first one that is not slow yet when one before it ends', () => {
    const { calls, permits } = inFlight(3);
    calls.remove(permits[0]!);
    calls.add(new TrackedPermit(era, 0, 0));

    calls.advance(SLOW, SLOW);

    expect(calls.slow).toBe(3);
  });
});
