import { afterEach, describe, expect, it } from 'vitest';
import { Campaign } from './campaign.js';
import { FAULTS } from './faults.js';
import { scenarioOf } from './generate.js';
import type { Scenario } from './scenario.js';
import { shorter, shrink } from './shrink.js';
import { linesOf, storyOf } from './story.js';

let campaign: Campaign | undefined;

afterEach(() => {
  campaign?.close();
  campaign = undefined;
});

const hasKind = ({ policies }: Scenario, kind: string): boolean => policies.some((policy) => policy.kind === kind);
const seeds = Array.from({ length: 20 }, (_, seed) => seed);

describe('Shortening', () => {
  it.each(seeds)('leaves nothing of the scenario of seed %i that need not be there', async (seed) => {
    const shortest = await shrink(scenarioOf(seed), () => Promise.resolve(true));

    expect(shortest).toEqual({
      ties: 0,
      policies: [],
      stacks: expect.anything() as unknown,
      stages: [],
      listenersThrow: false,
      steps: [],
    });
    expect(shortest.stacks.flatMap(({ policies }) => policies)).toEqual([]);
  });

  it('keeps what the failure needs, and nothing beside', async () => {
    const scenario = scenarioOf(seeds.find((seed) => hasKind(scenarioOf(seed), 'breaker')) as number);
    const fails = (candidate: Scenario): Promise<boolean> =>
      Promise.resolve(hasKind(candidate, 'breaker') && candidate.steps.some(({ kind }) => kind === 'call'));
    const shortest = await shrink(scenario, fails);

    expect(shortest.policies.map(({ kind }) => kind)).toEqual(['breaker']);
    expect(shortest.steps.map(({ kind }) => kind)).toEqual(['call']);
    for (const candidate of shorter(shortest)) expect(await fails(candidate)).toBe(isStillShorter(candidate));
  });

  it('stops after as many tries as it is given', async () => {
    let tries = 0;
    await shrink(scenarioOf(1), () => Promise.resolve((tries += 1) < 0), 7);

    expect(tries).toBe(7);
  });

  it('moves the places of policies when one of them goes', async () => {
    const scenario = scenarioOf(3);
    for (const { policies, stacks, steps } of shorter(scenario)) {
      const places = [
        ...stacks.flatMap((stack) => stack.policies),
        ...steps.flatMap((step) => (step.kind === 'trip' || step.kind === 'reset' ? [step.policy] : [])),
      ];
      expect(places.filter((place) => place >= policies.length)).toEqual([]);
    }
  });
});

/** In this one test a shorter one fails too when both things are still there. */
function isStillShorter(candidate: Scenario): boolean {
  return hasKind(candidate, 'breaker') && candidate.steps.length > 0;
}

describe('A failure', { timeout: 600_000 }, () => {
  it('is shortened to the few steps that show it, and can be played again from what is printed', async () => {
    campaign = await Campaign.open(FAULTS['slots-as-counted']);
    const failure = await campaign.run({ seed: 1, executions: 1_500 });
    const shortest = await campaign.shrink(failure!);
    const { policies, steps } = shortest.scenario;
    const story = storyOf(shortest);
    const pasted = JSON.parse(/--scenario '(.*)'/.exec(story)?.[1] ?? '') as Scenario;

    expect(policies.length).toBeLessThanOrEqual(2);
    expect(policies.map(({ kind }) => kind)).toContain('bulkhead');
    expect(steps.length).toBeLessThanOrEqual(3);
    expect(story).toContain(`--seed ${failure!.seed} --executions 1`);
    expect((await campaign.play(pasted)).violations).toEqual(shortest.violations);
  });
});

describe('A scenario in words', () => {
  it('names every policy, every stack and every step', () => {
    const scenario = scenarioOf(5);
    const lines = linesOf(scenario);

    expect(lines.filter((line) => /^p\d/.test(line)).length).toBe(scenario.policies.length);
    expect(lines.filter((line) => line.startsWith('stack')).length).toBe(scenario.stacks.length);
    expect(lines.filter((line) => /^\d+\. /.test(line)).length).toBe(scenario.steps.length);
  });
});
