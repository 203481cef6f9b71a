import type { AnswerStep, CallStep, PlainCallStep, PolicyRecipe, Scenario, Start, Step, Work } from './scenario.js';

/**
 * The shortest scenario that still fails, as far as leaving out and shortening one thing at a time leads: steps,
 * policies, stages, attempts, sections, waits. Each try is a whole execution.
 *
 * @param fails Whether a scenario fails in the way that is looked for.
 * @param tries How many executions it may take at most.
 */
export async function shrink(
  scenario: Scenario,
  fails: (scenario: Scenario) => Promise<boolean>,
  tries = 5_000,
): Promise<Scenario> {
  let shortest = scenario;
  let left = tries;
  for (let isShorter = true; isShorter;) {
    isShorter = false;
    for (const candidate of shorter(shortest)) {
      if (left-- <= 0) return shortest;
      if (!(await fails(candidate))) continue;

      shortest = candidate;
      isShorter = true;
      break;
    }
  }

  return shortest;
}

/** Scenarios that are a little shorter, the much shorter ones first. */
export function* shorter(scenario: Scenario): Generator<Scenario> {
  for (const steps of fewer(scenario.steps)) yield { ...scenario, steps };
  for (const policies of withoutPolicy(scenario)) yield policies;
  for (const stacks of withoutStages(scenario)) yield stacks;
  for (const stages of fewer(scenario.stages)) yield { ...scenario, stages };
  if (scenario.listenersThrow) yield { ...scenario, listenersThrow: false };
  for (const steps of oneChanged(scenario.steps, simplerSteps)) yield { ...scenario, steps };
  for (const policies of oneChanged(scenario.policies, simplerPolicies)) yield { ...scenario, policies };
  for (const stages of oneChanged(scenario.stages, simplerPolicies)) yield { ...scenario, stages };
  if (scenario.ties !== 0) yield { ...scenario, ties: 0 };
}

/** Lists without some of their elements: without half of them first, then without one. */
function* fewer<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let size = Math.ceil(list.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < list.length; at += size) yield [...list.slice(0, at), ...list.slice(at + size)];
  }
}

/** Lists of which one element is a simpler one. */
function* oneChanged<T>(list: readonly T[], simpler: (element: T) => Iterable<T>): Generator<readonly T[]> {
  for (const [at, element] of list.entries()) {
    for (const other of simpler(element)) yield list.toSpliced(at, 1, other);
  }
}

/** A policy that no stack has any more goes, and the others close up. */
function* withoutPolicy(scenario: Scenario): Generator<Scenario> {
  for (const place of scenario.policies.keys()) {
    const moved = (index: number): number[] => (index === place ? [] : [index > place ? index - 1 : index]);
    const stacks = scenario.stacks.map((stack) => ({ ...stack, policies: stack.policies.flatMap(moved) }));
    const steps = scenario.steps.flatMap((step) =>
      step.kind === 'trip' || step.kind === 'reset'
        ? moved(step.policy).map((policy) => ({ ...step, policy }))
        : [step],
    );
    yield { ...scenario, policies: scenario.policies.toSpliced(place, 1), stacks, steps };
  }
}

function* withoutStages(scenario: Scenario): Generator<Scenario> {
  for (const [at, stack] of scenario.stacks.entries()) {
    for (const policies of fewer(stack.policies)) {
      yield { ...scenario, stacks: scenario.stacks.toSpliced(at, 1, { ...stack, policies }) };
    }
    if (stack.by !== 'wrap') yield { ...scenario, stacks: scenario.stacks.toSpliced(at, 1, { ...stack, by: 'wrap' }) };
  }
}

function* simplerSteps(step: Step): Generator<Step> {
  if (step.kind === 'call' || step.kind === 'fan out' || step.kind === 'collect') yield* simplerStarts(step);
  else if (step.kind === 'plain call') yield* simplerPlainCalls(step);
  else if (step.kind === 'abort' && step.inCallback > 1) yield { ...step, inCallback: step.inCallback - 1 };
  else if (step.kind === 'pass' || step.kind === 'stall') for (const ms of smaller(step.ms)) yield { ...step, ms };
}

function* simplerStarts(start: Start): Generator<Start> {
  if (start.detached) yield { ...start, detached: false };
  if (start.budget !== undefined && start.kind === 'call') yield { ...start, budget: undefined };
  if (start.signal !== undefined) yield { ...start, signal: undefined };
  yield* start.kind === 'call' ? simplerCalls(start) : simplerAnswers(start);
}

function* simplerCalls(call: CallStep): Generator<Start> {
  if (!call.ambient) yield { ...call, ambient: true };
  if (call.stack > 0) yield { ...call, stack: 0 };
  for (const works of fewerOrSimpler(call.works)) yield { ...call, works };
}

function* simplerPlainCalls(call: PlainCallStep): Generator<Step> {
  if (call.budget !== undefined) yield { ...call, budget: undefined };
  if (call.signal !== undefined) yield { ...call, signal: undefined };
  for (const works of fewerOrSimpler(call.works)) yield { ...call, works };
}

function* simplerAnswers(answer: AnswerStep): Generator<Start> {
  const { sections } = answer;
  const last = sections.at(-1);
  if (sections.length > 1) yield { ...answer, sections: sections.slice(0, -1) };
  if (sections.length > 1 && last !== undefined && last.after.length === 0) yield { ...answer, sections: [last] };
  if (answer.concurrency !== undefined) yield { ...answer, concurrency: undefined };
  if (answer.settles) yield { ...answer, settles: false };
  for (const [at, section] of sections.entries()) {
    const changed = (change: object): Start => ({
      ...answer,
      sections: sections.toSpliced(at, 1, { ...section, ...change }),
    });
    if (section.stack !== undefined) yield changed({ stack: undefined });
    if (section.timeout !== undefined) yield changed({ timeout: undefined });
    if (section.after.length > 0) yield changed({ after: [] });
    for (const work of simplerWorks(section.work)) yield changed({ work });
  }
}

/** What attempts do, of which there is at least one. */
function* fewerOrSimpler(works: readonly Work[]): Generator<readonly Work[]> {
  for (const some of fewer(works)) if (some.length > 0) yield some;
  yield* oneChanged(works, simplerWorks);
}

const PLAIN: Work = { does: 'answer', after: 0, byTimer: true, error: 'down', asks: 'never' };

function* simplerWorks(work: Work): Generator<Work> {
  const { does, after, byTimer, error, asks, starts } = work;
  if (does !== 'answer') yield PLAIN;
  if (does === 'start' || does === 'honour') yield { ...PLAIN, does: 'hang' };
  if (starts !== undefined) for (const other of simplerStarts(starts)) yield { ...work, starts: other };
  for (const ms of smaller(after)) yield { ...work, after: ms };
  if (!byTimer) yield { ...work, byTimer: true };
  if (error !== 'down') yield { ...work, error: 'down' };
  if (asks !== 'never') yield { ...work, asks: 'never' };
}

function* simplerPolicies(policy: PolicyRecipe): Generator<PolicyRecipe> {
  switch (policy.kind) {
    case 'retry':
      if (policy.attempts > 2) yield { ...policy, attempts: 2 };
      if (policy.retryIf !== 'default') yield { ...policy, retryIf: 'default' };
      if (policy.onResult !== undefined) yield { ...policy, onResult: undefined };
      for (const delay of smaller(policy.delay)) yield { ...policy, delay };
      return;
    case 'timeout':
      if (policy.as !== 'number') yield { ...policy, as: 'number' };
      return;
    case 'breaker':
      if (policy.recordIf !== 'default') yield { ...policy, recordIf: 'default' };
      if (policy.inARow !== undefined) yield { ...policy, inARow: undefined };
      if (policy.probes > 1) yield { ...policy, probes: 1 };
      if (policy.window.type === 'time') yield { ...policy, window: { type: 'count', size: 5 } };
      return;
    case 'bulkhead':
      if (policy.queueTimeout !== undefined) yield { ...policy, queueTimeout: undefined };
      return;
    case 'fallback':
      if (policy.answers !== 'value') yield { ...policy, answers: 'value' };
      if (policy.handleIf !== 'default') yield { ...policy, handleIf: 'default' };
      return;
    default:
  }
}

function* smaller(ms: number): Generator<number> {
  if (ms > 1) yield Math.floor(ms / 2);
  if (ms > 0) yield ms - 1;
}
