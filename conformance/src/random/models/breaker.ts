import type { BreakerRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { isRefusal, limitIn, shapeOf, show } from '../watch.js';
import { BreakerState } from './breaker-state.js';
import { RefusalCost } from './refusal-cost.js';
import { isFlaw, says } from './predicates.js';
import { StageModel, type Place, type Told } from './stage-model.js';

interface BreakerFrame {
  /** The number of this passage of the call, which may come more than once. */
  readonly call: number;
  readonly enteredAt: number;
  readonly waitedBefore: number;
  /** What each state said to the call. */
  readonly answers: ReadonlyMap<BreakerState, number | undefined>;
  readonly cost: RefusalCost;
  isIn: boolean;
  back: Outcome | undefined;
  /** What the outcome says about the dependency. */
  failed: Judgement;
  /** Whether the predicate is asked about it. */
  asks: boolean | 'unknown';
}

interface Stats {
  readonly stats: { readonly total: number; readonly failures: number };
}

type Judgement = boolean | undefined | 'unknown';

const REACHED = { open: 'open', 'half-open': 'half-open', closed: 'closed again' } as const;

/** A circuit breaker: whom it lets in, what it counts, and what it tells. */
export class BreakerModel extends StageModel<BreakerFrame> {
  /** One, unless it cannot be known what an outcome counted for. */
  private states: BreakerState[];
  private passages = 0;
  private readonly told: string[] = [];

  constructor(
    place: Place,
    private readonly recipe: BreakerRecipe,
    private readonly policy: Stats,
  ) {
    super(place);
    this.states = [new BreakerState(recipe)];
  }

  goIn(run: Run): void {
    const frame = this.frames.get(run);
    if (frame === undefined || frame.isIn) return;

    frame.isIn = true;
    this.keep((state) => frame.answers.get(state) === undefined, 'lets a call in that it has to refuse');
  }

  override onEvent({ type, to }: Told): void {
    if (to === undefined || !type.startsWith('circuit-')) return;

    this.told.push(to);
    this.watch.reach(REACHED[to as keyof typeof REACHED]);
  }

  override check(): void {
    const { total, failures } = this.policy.stats;
    const { now } = this.watch;
    const told = this.told.join();
    const isSame = (state: BreakerState): boolean => {
      const expected = state.stats(now);
      return expected.total === total && expected.failures === failures && state.entered.join() === told;
    };
    const [first] = this.states as [BreakerState];
    const expected = first.stats(now);
    this.keep(
      isSame,
      `counts ${failures} of ${total} after ${told || 'nothing'}; expected ${expected.failures} of ${expected.total} after ${first.entered.join() || 'nothing'}`,
    );
    if (first.lost > 0) this.watch.reach('probe lease lost');
  }

  /** Somebody opens or closes it by hand. */
  control(name: 'open' | 'closed'): void {
    for (const state of this.states) state.enter(name, this.watch.now);
  }

  protected begin(run: Run): BreakerFrame {
    const { now } = this.watch;
    const call = (this.passages += 1);
    const answers = new Map(this.states.map((state) => [state, state.call(call, now)]));

    return {
      call,
      enteredAt: now,
      waitedBefore: run.waitedMs,
      answers,
      cost: new RefusalCost(this.watch),
      isIn: false,
      back: undefined,
      failed: undefined,
      asks: false,
    };
  }

  protected onBack(run: Run, frame: BreakerFrame, outcome: Outcome): void {
    frame.back = outcome;
    frame.asks = !outcome.ok && this.asks(run, frame, outcome);
    frame.failed = outcome.ok ? false : this.judge(frame.asks, outcome);
  }

  protected onLeave(run: Run, frame: BreakerFrame, outcome: Outcome): void {
    const { back, isIn, cost, answers } = frame;
    if (!isIn) {
      const { code, retryAfterMs } = shapeOf(outcome.value);
      this.require(code === 'CIRCUIT_OPEN', 'reasons-apart', `refused with ${show(outcome.value)}`);
      this.requireOwn(outcome.value);
      this.keep(
        (state) => answers.get(state) === retryAfterMs,
        `refused for ${String(retryAfterMs)} ms, expected ${String([...answers.values()][0])}`,
      );
      cost.requireNone(this.name, outcome.value);
      return;
    }
    this.settle(frame);
    if (frame.asks === true ? this.recipe.recordIf === 'throws' : frame.asks === 'unknown' && isFlaw(outcome)) {
      run.isFlawed = true;
      this.watch.reach('own error of a predicate');
      this.require(isFlaw(outcome), 'flaw-takes-the-place', `made ${show(outcome.value)} of an error of its predicate`);
      return;
    }
    this.requirePassed(back, outcome);
  }

  protected override onCut(_run: Run, frame: BreakerFrame): void {
    // A listener has made its caller leave before it was let in.
    if (!frame.isIn) frame.failed = undefined;
    // Or a callback, when it had come back: what the predicate says then counts for nothing.
    else if (frame.back?.cutting === false && frame.asks !== false) frame.failed = 'unknown';
    this.settle(frame);
  }

  private settle({ call, failed, back }: BreakerFrame): void {
    const { now } = this.watch;
    if (failed !== 'unknown') {
      for (const state of this.states) state.settle(call, failed, now);
      return;
    }
    const both = this.states.flatMap((state) => {
      const other = state.copy();
      state.settle(call, undefined, now);
      other.settle(call, this.counts(back?.value), now);
      return [state, other];
    });
    this.states = unlike(both);
  }

  private judge(asks: boolean | 'unknown', { value }: Outcome): Judgement {
    if (asks !== true) return asks === 'unknown' ? 'unknown' : undefined;

    return this.counts(value);
  }

  /** What an error counts for that the predicate is asked about; one that throws says nothing in the error's favour. */
  private counts(error: unknown): true | undefined {
    const { recordIf } = this.recipe;

    return recordIf === 'throws' || says(recordIf, error) ? true : undefined;
  }

  /** Whether the outcome says anything about the dependency, so that the predicate is asked. */
  private asks(run: Run, frame: BreakerFrame, { value, cutting }: Outcome): boolean | 'unknown' {
    if (isRefusal(value)) return false;

    const limit = limitIn(value);
    const blame = limit === undefined ? 'counts' : this.watch.blameOf(limit);
    if (blame === 'does not count' || (!cutting && (run.isFlawed || run.isLeft))) return false;
    if ((cutting || limit?.code === 'DEADLINE_EXCEEDED') && !this.ranLongEnough(run, frame, limit)) return false;

    return blame === 'counts' ? true : 'unknown';
  }

  /** Whoever is cut from outside has to have had half of that limit, without the time in queues. */
  private ranLongEnough(
    run: Run,
    { enteredAt, waitedBefore }: BreakerFrame,
    limit: ReturnType<typeof limitIn>,
  ): boolean {
    const limitMs = limit?.timeoutMs ?? limit?.budgetMs;
    if (limitMs === undefined) return false;

    return this.watch.now - enteredAt - (run.waitedMs - waitedBefore) >= limitMs / 2;
  }

  private keep(isRight: (state: BreakerState) => boolean, what: string): void {
    const left = this.states.filter(isRight);
    this.require(left.length > 0, 'breaker-as-counted', what);
    if (left.length > 0) this.states = left.slice(0, 64);
  }
}

/** An outcome of an earlier era makes no difference, and of several in one turn it often makes none which is which. */
function unlike(states: readonly BreakerState[]): BreakerState[] {
  const signatures = states.map(({ signature }) => signature);

  return states.filter((_, at) => signatures.indexOf(signatures[at] as string) === at);
}
