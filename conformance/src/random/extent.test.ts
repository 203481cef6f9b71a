import { describe, expect, it } from 'vitest';
import { isStart, mostWorksIn, mostWorksOf, withoutNested } from './extent.js';
import { MOST_WORKS, scenarioOf } from './generate.js';
import type { AnswerStep, CallStep, PolicyRecipe, Start, Work } from './scenario.js';

const retryOf = (attempts: number): PolicyRecipe => ({
  kind: 'retry',
  attempts,
  delay: 0,
  factor: 1,
  asFunction: false,
  retryIf: 'default',
  onResult: undefined,
});
const BUILT = {
  policies: [retryOf(3), { kind: 'budget', ms: 5 } as const, retryOf(2)],
  stacks: [
    { policies: [0, 1, 2], by: 'wrap' },
    { policies: [], by: 'wrap' },
  ] as const,
};
const WORK: Work = { does: 'reject', after: 0, byTimer: true, error: 'down', asks: 'never' };
const CALLED = { signal: undefined, budget: undefined, detached: false };
const callOf = (stack: number, ...works: readonly Work[]): CallStep => ({
  kind: 'call',
  stack,
  ...CALLED,
  ambient: true,
  works,
});
const starting = (starts: Start): Work => ({ ...WORK, does: 'start', starts, waits: true });
const answerOf = (...sections: readonly { readonly stack: number | undefined; readonly work: Work }[]): AnswerStep => ({
  kind: 'fan out',
  ...CALLED,
  concurrency: undefined,
  settles: false,
  sections: sections.map((given) => ({ required: false, timeout: undefined, fallback: 'value', after: [], ...given })),
});

describe('The most works of a start', () => {
  it.each([
    ['once without a retry', callOf(1, WORK), 1],
    ['once for each attempt of retries in retries', callOf(0, WORK, WORK), 6],
    ['with what its work starts, for each attempt', callOf(0, WORK, starting(callOf(0, WORK))), 6 * (1 + 6)],
    ['as deep as it goes', callOf(0, starting(callOf(0, starting(callOf(0, WORK))))), 6 * (1 + 6 * (1 + 6))],
    ['of all sections', answerOf({ stack: 0, work: WORK }, { stack: undefined, work: starting(callOf(0, WORK)) }), 13],
  ])('are counted %s', (_, start, most) => {
    expect(mostWorksOf(start, BUILT)).toBe(most);
  });

  it('are added up over the steps of a scenario', () => {
    const scenario = { ...BUILT, ties: 0, stages: [], listenersThrow: false };
    const steps = [callOf(0, WORK), { kind: 'pass', ms: 1 } as const, callOf(1, WORK)];

    expect(mostWorksIn({ ...scenario, steps })).toBe(6 + 1);
  });

  it('are those of its own stack when its work starts nothing', () => {
    const start = callOf(0, WORK, starting(callOf(0, WORK)));
    const { works } = withoutNested(start) as CallStep;

    expect(mostWorksOf(withoutNested(start), BUILT)).toBe(6);
    expect(works).toMatchObject([WORK, { ...WORK, does: 'resolve' }]);
    expect(mostWorksOf(withoutNested(answerOf({ stack: undefined, work: starting(start) })), BUILT)).toBe(1);
  });
});

describe('A scenario', () => {
  const worksOf = (seed: number): number => {
    const scenario = scenarioOf(seed);

    return Math.max(0, ...scenario.steps.filter(isStart).map((start) => mostWorksOf(start, scenario)));
  };

  it('has no step with retries in retries, in work that starts such calls, that would not end for hours', () => {
    expect(worksOf(601_421_703), 'that has retries of 2, 3, 4 and 3 attempts, three deep').toBeLessThan(100);
    const seeds = Array.from({ length: 5_000 }, (_, at) => 500_000_000 + at);

    expect(seeds.filter((seed) => worksOf(seed) > MOST_WORKS)).toEqual([]);
  });
});
