import { Draws } from './draws.js';
import { mostWorksOf, withoutNested } from './extent.js';
import type {
  AnswerStep,
  CallStep,
  PlainCallStep,
  PolicyRecipe,
  Predicate,
  Scenario,
  SectionRecipe,
  StackRecipe,
  Start,
  Step,
  Work,
} from './scenario.js';

/** The scenario of a seed: always the same. */
export function scenarioOf(seed: number): Scenario {
  return new Generator(new Draws(seed)).scenario();
}

const MOST_POLICIES = 6;
const CALLERS = 4;
/** More than a timer of the platform can wait. */
const VERY_LONG_MS = 2 ** 31 + 5;
/** How long nothing else happens, now and then for longer than any limit. */
const PASSING_MS = [0, 0, 1, 1, 3, 3, 5, 5, 8, 8, 13, 13, 30, 30, 70, VERY_LONG_MS];
/** How deep work starts work. */
const DEEPEST = 2;
/** How often a step may perform work before its work starts nothing more: retries in retries in retries have no end. */
export const MOST_WORKS = 1_000;

class Generator {
  policies: readonly PolicyRecipe[] = [];
  stacks: readonly StackRecipe[] = [];
  private stages: PolicyRecipe[] = [];

  constructor(private readonly draws: Draws) {}

  scenario(): Scenario {
    const { draws } = this;
    this.policies = draws.list(draws.from(1, MOST_POLICIES), () => this.policy());
    this.stacks = draws.list(draws.from(1, 2), () => this.stack());
    this.stages = draws.chance(30) ? this.stagesOfPlainCalls() : [];
    const listenersThrow = draws.chance(15);
    const steps = draws.list(draws.from(3, 16), () => this.step());

    const ties = draws.below(2 ** 31);
    const { policies, stacks, stages } = this;
    return { ties, policies, stacks, stages, listenersThrow, steps };
  }

  private policy(): PolicyRecipe {
    const { draws } = this;
    switch (draws.below(7)) {
      case 0:
        return {
          kind: 'retry',
          attempts: draws.from(1, 4),
          delay: draws.pick([0, 1, 5, 12, 40]),
          factor: draws.pick([1, 2]),
          asFunction: draws.chance(50),
          retryIf: this.predicate(),
          onResult: draws.chance(25) ? this.predicate() : undefined,
        };
      case 1:
        return {
          kind: 'timeout',
          ms: draws.pick([1, 4, 10, 10, 25, 60, VERY_LONG_MS]),
          as: draws.pick(['number', 'number', 'function', 'adaptive']),
        };
      case 2:
        return { kind: 'budget', ms: draws.pick([5, 12, 30, 30, 80, VERY_LONG_MS]) };
      case 3:
        return this.breaker();
      case 4:
        return {
          kind: 'bulkhead',
          slots: draws.from(1, 2),
          queue: draws.from(0, 2),
          queueTimeout: draws.pick([undefined, undefined, 0, 8, 20, VERY_LONG_MS]),
          holds: draws.chance(80),
        };
      case 5:
        return {
          kind: 'rate limit',
          limit: draws.from(1, 3),
          perToken: draws.pick([4, 10]),
          maxWait: draws.pick([0, 10, 30]),
        };
      default:
        return {
          kind: 'fallback',
          answers: draws.pick(['value', 'promise', 'throws', 'slowly']),
          handleIf: this.predicate(),
        };
    }
  }

  private breaker(): PolicyRecipe {
    const { draws } = this;
    const minimumCalls = draws.from(1, 3);

    return {
      kind: 'breaker',
      threshold: draws.pick([1, 34, 50, 100]),
      minimumCalls,
      window: draws.chance(50)
        ? { type: 'count', size: minimumCalls + draws.below(3) }
        : { type: 'time', size: draws.pick([50, 200]) },
      openMs: draws.pick([0, 6, 20]),
      probes: draws.from(1, 3),
      lease: draws.pick([5, 15, 1_000]),
      inARow: draws.chance(25) ? 2 : undefined,
      recordIf: this.predicate(),
    };
  }

  private predicate(): Predicate {
    return this.draws.pick(['default', 'default', 'default', 'default', 'yes', 'no', 'throws']);
  }

  private stack(): StackRecipe {
    const { draws, policies } = this;
    const places = policies.map((_, place) => place).filter(() => draws.chance(70));
    for (let last = places.length - 1; last > 0; last--) {
      const other = draws.below(last + 1);
      [places[last], places[other]] = [places[other] as number, places[last] as number];
    }

    return { policies: this.withSlotsInOrder(places), by: draws.pick(['wrap', 'wraps']) };
  }

  /** Two stacks that take the slots of two bulkheads in opposite orders can wait for each other for ever, as with locks. */
  private withSlotsInOrder(places: readonly number[]): readonly number[] {
    const hasSlots = (place: number): boolean => this.policies[place]?.kind === 'bulkhead';
    const inOrder = places.filter(hasSlots).toSorted((one, other) => one - other);

    return places.map((place) => (hasSlots(place) ? (inOrder.shift() as number) : place));
  }

  private stagesOfPlainCalls(): PolicyRecipe[] {
    const drawn = this.draws.list(this.draws.from(1, MOST_POLICIES), () => this.policy());

    return drawn.filter(({ kind }, at) => at === drawn.findIndex((one) => one.kind === kind));
  }

  private step(): Step {
    const { draws } = this;
    const kind = draws.below(100);
    if (kind < 15 && this.stages.length > 0) return this.plainCall();
    if (kind < 48) return this.bounded(this.start(0));
    if (kind < 78) return { kind: 'pass', ms: draws.pick(PASSING_MS) };
    if (kind < 82) return { kind: 'stall', ms: draws.pick([20, 51, 90]) };
    if (kind < 86) return { kind: 'step the wall clock', ms: draws.pick([-3_600_000, -40, 25, 3_600_000]) };
    if (kind >= 97) return { kind: draws.pick(['trip', 'reset']), policy: draws.below(this.policies.length) };

    return { kind: 'abort', caller: draws.below(CALLERS), inCallback: draws.chance(70) ? 0 : draws.from(1, 3) };
  }

  private bounded(start: Start): Start {
    return mostWorksOf(start, this) > MOST_WORKS ? withoutNested(start) : start;
  }

  private start(depth: number): Start {
    return this.draws.chance(12) ? this.answer(depth) : this.call(depth);
  }

  private called(depth: number): Pick<CallStep, 'signal' | 'budget' | 'detached'> {
    const { draws } = this;
    const signals =
      depth > 0 ? [undefined, undefined, 'own' as const, draws.below(CALLERS)] : [undefined, draws.below(CALLERS)];

    return {
      signal: draws.pick(signals),
      budget: draws.chance(15) ? draws.pick([3, 15, 40]) : undefined,
      detached: depth > 0 && draws.chance(15),
    };
  }

  private call(depth: number): CallStep {
    const { draws } = this;
    const works = draws.list(draws.from(1, 3), () => this.work(depth));

    return {
      kind: 'call',
      stack: draws.below(this.stacks.length),
      ...this.called(depth),
      ambient: !draws.chance(10),
      works,
    };
  }

  private plainCall(): PlainCallStep {
    const { signal, budget } = this.called(0);
    const works = this.draws.list(this.draws.from(1, 3), () => this.work(DEEPEST));

    return { kind: 'plain call', signal: typeof signal === 'number' ? signal : undefined, budget, works };
  }

  private work(depth: number): Work {
    const { draws } = this;
    const work = {
      does: draws.pick([
        'answer',
        'throw',
        'resolve',
        'resolve',
        'reject',
        'reject',
        'reject',
        'hang',
        'honour',
      ] as const),
      after: draws.pick([0, 0, 1, 4, 7, 10, 20, 60]),
      byTimer: draws.chance(50),
      error: draws.pick(['down', 'down', 'down', 'down', 'not found', 'retry after'] as const),
      asks: draws.pick(['at once', 'late', 'never'] as const),
    };
    if (depth >= DEEPEST || !draws.chance(15)) return work;

    return { ...work, does: 'start', starts: this.start(depth + 1), waits: draws.chance(85) };
  }

  private answer(depth: number): AnswerStep {
    const { draws } = this;
    const sections = draws.list(draws.from(1, 4), () => undefined).map((_, at) => this.section(depth, at));
    const called = this.called(depth);

    return {
      kind: draws.pick(['fan out', 'fan out', 'collect']),
      sections,
      ...called,
      budget: called.budget ?? draws.pick([10, 30, 60]),
      concurrency: draws.pick([undefined, undefined, 1, 2]),
      settles: draws.chance(30),
    };
  }

  private section(depth: number, at: number): SectionRecipe {
    const { draws } = this;
    return {
      required: draws.chance(20),
      timeout: draws.pick([undefined, 5, 12]),
      stack: draws.chance(50) ? draws.below(this.stacks.length) : undefined,
      work: this.work(depth + 1),
      fallback: draws.pick(['value', 'value', 'function', 'function', 'throws']),
      after: at > 0 && draws.chance(30) ? [draws.below(at)] : [],
    };
  }
}
