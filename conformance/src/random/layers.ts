import type { Engine, Execution } from './engine.js';
import type { StageModel } from './models/stage-model.js';
import type { Outcome, Run } from './run.js';
import { show, type Watch } from './watch.js';

/**
 * Looks at what passes between the stages of a stack: a layer of glass stands outside of the first stage, between any
 * two, and inside of the last. Each stage then has a model of its own that is told what comes in on one side and goes
 * out on the other, and no model has to know what the others do.
 */
export class Layers {
  /** The run whose work begins next. */
  arriving: Run | undefined = undefined;
  private readonly runs = new Map<object, Run>();

  constructor(
    private readonly watch: Watch,
    private readonly newRun: (execution: Execution) => Run | undefined,
  ) {}

  /** Policies and models, in their order, under one policy with glass between them. */
  policyOf(engine: Engine, stages: readonly LayeredStage[]): LayeredPolicy[] {
    const models = stages.map(({ model }) => model);
    const glass = (at: number): LayeredPolicy => {
      // Glass around fallbacks is like these for whoever looks for the place of a budget.
      const isAround = at <= stages.findIndex(({ policy }) => policy === undefined);
      return glassPane(engine, { layers: this, models, at, isAround });
    };

    return [
      glass(0),
      ...stages.flatMap(({ policy }, at) => [...(policy === undefined ? [] : [policy]), glass(at + 1)]),
    ];
  }

  onEnter(pane: Pane, execution: Execution): void {
    const { at, models } = pane;
    const run = at === 0 ? this.begin(execution) : this.runs.get(execution);
    if (run === undefined) return this.watch.require(false, 'nothing-for-nobody', 'a stage is begun for nobody');

    const isNext = run.depth === at && !run.isOver;
    this.watch.require(
      isNext,
      'nothing-for-nobody',
      `layer ${at} is entered ${run.isOver ? 'after the end' : `from ${run.depth}`}`,
    );
    run.depth = at + 1;
    if (at > 0) models[at - 1]?.goIn(run);
    if (at < models.length) models[at]?.enter(run);
    else this.arriving = run;
  }

  onLeave(pane: Pane, execution: Execution, outcome: Outcome): void {
    const { at, models } = pane;
    const run = this.runs.get(execution);
    if (run === undefined) return;

    this.watch.require(run.depth === at + 1, 'outcome-passes', `layer ${at} is left from ${run.depth}`);
    run.depth = at;
    if (outcome.cutting) cutAttempt(run, outcome.value);
    else this.settleAttempt(run, outcome);
    if (at < models.length) models[at]?.leave(run, outcome);
    if (at > 0) return models[at - 1]?.comeBack(run, outcome);

    this.runs.delete(execution);
    run.end(outcome);
  }

  private begin(execution: Execution): Run | undefined {
    const run = this.newRun(execution);
    if (run !== undefined) this.runs.set(execution, run);

    return run;
  }

  private settleAttempt(run: Run, { ok, value }: Outcome): void {
    if (this.arriving === run) {
      this.arriving = undefined;
      this.watch.reach('refused without time');
      this.watch.blame(value, 'does not count');
      this.watch.require(!ok && run.isOutOfTime(), 'nothing-for-nobody', `work is refused with ${show(value)}`);
      return;
    }
    run.attempt?.close('settled');
    run.attempt = undefined;
  }
}

function cutAttempt(run: Run, reason: unknown): void {
  const { attempt } = run;
  if (attempt === undefined) return;

  attempt.close('cut', reason);
  run.abandoned.push(attempt);
  run.attempt = undefined;
}

export type LayeredPolicy = InstanceType<Engine['ResiliencePolicy']>;

export interface LayeredStage {
  readonly model: StageModel;
  /** `undefined` at the place where the budget of one call goes. */
  readonly policy: LayeredPolicy | undefined;
}

interface Pane {
  readonly layers: Layers;
  readonly models: readonly StageModel[];
  readonly at: number;
  readonly isAround: boolean;
}

type Glass = new (pane: Pane) => LayeredPolicy;

/** One class for each engine: a class for each pane would keep the engine's code from ever being compiled for one. */
const glasses = new WeakMap<Engine, Glass>();

/** A stage that lets everything pass and looks at it. */
function glassPane(engine: Engine, pane: Pane): LayeredPolicy {
  const Glass = glasses.get(engine) ?? glassOf(engine);
  glasses.set(engine, Glass);

  return new Glass(pane);
}

function glassOf(engine: Engine): Glass {
  return class extends engine.RetryPolicy {
    constructor(private readonly pane: Pane) {
      super(1);
    }

    override get answersFailures(): boolean {
      return this.pane.isAround;
    }

    override enter(execution: Execution): boolean {
      this.pane.layers.onEnter(this.pane, execution);
      return true;
    }

    override leave(execution: Execution): boolean {
      const { ok, value, cutting } = execution;
      this.pane.layers.onLeave(this.pane, execution, { ok, value, cutting });
      return true;
    }
  };
}
