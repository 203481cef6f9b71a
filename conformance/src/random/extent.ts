import type { AnswerStep, CallStep, PolicyRecipe, Scenario, Start, Step, Work } from './scenario.js';

type Built = Pick<Scenario, 'policies' | 'stacks'>;

/** How often the calls and answers of a scenario perform work at most, all together. */
export function mostWorksIn(scenario: Scenario): number {
  return scenario.steps.filter(isStart).reduce((sum, start) => sum + mostWorksOf(start, scenario), 0);
}

export const isStart = (step: Step): step is Start =>
  step.kind === 'call' || step.kind === 'fan out' || step.kind === 'collect';

/** How often a start performs work at most, with all that its work starts: when every attempt of every retry is made. */
export function mostWorksOf(start: Start, built: Built): number {
  return start.kind === 'call' ? mostOfCall(start, built) : mostOfAnswer(start, built);
}

function mostOfCall({ stack, works }: CallStep, built: Built): number {
  return attemptsOf(stack, built) * Math.max(...works.map((work) => mostOfWork(work, built)));
}

function mostOfAnswer({ sections }: AnswerStep, built: Built): number {
  return sections.reduce((sum, { stack, work }) => sum + attemptsOf(stack, built) * mostOfWork(work, built), 0);
}

const mostOfWork = ({ starts }: Work, built: Built): number =>
  1 + (starts === undefined ? 0 : mostWorksOf(starts, built));

function attemptsOf(stack: number | undefined, { policies, stacks }: Built): number {
  const places = stack === undefined ? [] : (stacks[stack]?.policies ?? []);

  return places.map((place) => attemptsUnder(policies[place])).reduce((product, attempts) => product * attempts, 1);
}

const attemptsUnder = (policy: PolicyRecipe | undefined): number => (policy?.kind === 'retry' ? policy.attempts : 1);

/** The same start, with work that resolves where it would start something itself. */
export function withoutNested(start: Start): Start {
  return start.kind === 'call'
    ? { ...start, works: start.works.map(startingNothing) }
    : { ...start, sections: start.sections.map((section) => ({ ...section, work: startingNothing(section.work) })) };
}

function startingNothing(work: Work): Work {
  const { starts, after, byTimer, error, asks } = work;

  return starts === undefined ? work : { does: 'resolve', after, byTimer, error, asks };
}
