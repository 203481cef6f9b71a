import type { Failure } from './campaign.js';
import { INVARIANTS } from './invariants.js';
import type { CallStep, PolicyRecipe, Scenario, SectionRecipe, Start, Step, Work } from './scenario.js';

/** A failure as somebody reads it who wants to see it again: what does not hold, the scenario, and how to play it. */
export function storyOf({ seed, scenario, violations }: Failure): string {
  const [first] = violations;
  const again =
    seed === undefined ? [] : [`The whole execution again: npm run soak -- executions --seed ${seed} --executions 1`];

  return [
    ...(first === undefined ? ['Nothing was found.'] : [INVARIANTS[first.invariant], `(${first.invariant})`, '']),
    ...violations.slice(0, MOST_SHOWN).map(({ what, at }) => `  after ${at} ms: ${what}`),
    '',
    ...linesOf(scenario).map((line) => `  ${line}`),
    '',
    ...again,
    `This scenario again: npm run soak -- executions --scenario '${JSON.stringify(scenario)}'`,
  ].join('\n');
}

const MOST_SHOWN = 5;

/** A scenario in words. */
export function linesOf({ policies, stacks, stages, steps, listenersThrow }: Scenario): readonly string[] {
  return [
    ...policies.map((policy, at) => `p${at} = ${policyIn(policy)}`),
    ...stacks.map(
      (stack, at) => `stack ${at} = ${stack.policies.map((place) => `p${place}`).join(' > ') || 'no policies'}`,
    ),
    ...stages.map((stage) => `stage of plain calls: ${policyIn(stage)}`),
    ...(listenersThrow ? ['every listener throws'] : []),
    ...steps.flatMap((step, at) =>
      stepIn(step).map((line, index) => (index === 0 ? `${at + 1}. ${line}` : `   ${line}`)),
    ),
  ];
}

function policyIn({ kind, ...options }: PolicyRecipe): string {
  return `${kind} ${optionsIn(options)}`;
}

function optionsIn(options: object): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);

  return given
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}

function stepIn(step: Step): readonly string[] {
  switch (step.kind) {
    case 'call':
    case 'fan out':
    case 'collect':
      return startIn(step);
    case 'plain call':
      return [
        `plain call ${optionsIn({ signal: step.signal, budget: step.budget })}`,
        ...step.works.flatMap((work) => indented(workIn(work))),
      ];
    case 'abort':
      return [`caller ${step.caller} leaves${step.inCallback === 0 ? '' : ` in callback ${step.inCallback} from now`}`];
    case 'trip':
    case 'reset':
      return [`${step.kind} p${step.policy}`];
    default:
      return [`${step.kind} ${step.ms} ms`];
  }
}

function startIn(start: Start): readonly string[] {
  const { signal, budget, detached } = start;
  const by = [
    ...(signal === undefined ? [] : [signal === 'own' ? 'with the signal around' : `by caller ${signal}`]),
    ...(budget === undefined ? [] : [`within ${budget} ms`]),
    ...(detached ? ['detached'] : []),
  ].join(', ');
  if (start.kind === 'call') return callIn(start, by);

  const { kind, sections, concurrency, settles } = start;
  const how = optionsIn({ concurrency, settles });
  return [`${kind} ${by}, ${how}`, ...sections.flatMap((section, at) => sectionIn(section, at))];
}

function callIn({ stack, ambient, works }: CallStep, by: string): readonly string[] {
  return [
    `call stack ${stack} ${by}${ambient ? '' : ', not ambient'}`,
    ...works.flatMap((work) => indented(workIn(work))),
  ];
}

function sectionIn({ required, timeout, stack, work, fallback, after }: SectionRecipe, at: number): readonly string[] {
  const options = optionsIn({ timeout, stack, fallback, after: after.length === 0 ? undefined : after });

  return indented([`s${at}: ${required ? 'required' : 'optional'}, ${options}`, ...indented(workIn(work))]);
}

function workIn({ does, after, byTimer, error, asks, starts, waits }: Work): readonly string[] {
  const time =
    does === 'resolve' || does === 'reject' || does === 'start'
      ? ` after ${after} ms by ${byTimer ? 'timer' : 'input'}`
      : '';
  const fails = does === 'reject' || does === 'throw' ? ` with "${error}"` : '';
  const asking = asks === 'never' ? '' : `, asks for its signal ${asks}`;
  const line = `${does}${time}${fails}${asking}${starts === undefined || waits === true ? '' : ', does not wait for it'}`;

  return [line, ...(starts === undefined ? [] : indented(startIn(starts)))];
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}
