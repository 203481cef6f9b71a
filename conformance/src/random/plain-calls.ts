import type { Builder, Bulkhead, Stages } from './build.js';
import { Started } from './calls.js';
import type { Engine } from './engine.js';
import type { LayeredPolicy } from './layers.js';
import { AttemptRecord, Run, type AttemptContext, type Caller, type RunOwner } from './run.js';
import type { PlainCallStep, Scenario, Work } from './scenario.js';
import { show, type Watch } from './watch.js';
import type { Works } from './works.js';

/** What plain calls are made with. */
export interface PlainMeans {
  readonly engine: Engine;
  readonly watch: Watch;
  readonly builder: Builder;
  readonly works: Works;
}

/**
 * Calls under `createPolicy()`. No glass stands between its stages, as in an application, so that less is known: that
 * such a call settles once, at once for a caller who leaves, and what it may run.
 */
export class PlainCalls {
  private readonly policy: LayeredPolicy;
  private readonly bulkhead: Bulkhead | undefined;
  private readonly attempts: AttemptRecord[] = [];
  private readonly mostAttempts: number;
  private readonly mostAtOnce: number;

  constructor(
    private readonly means: PlainMeans,
    { stages }: Scenario,
  ) {
    const made: Stages = means.builder.stages(stages, (recipe, context) =>
      means.works.answer(recipe, new AttemptRecord(this.runOf(NOBODY), context)),
    );
    this.policy = means.engine.createPolicy(made, 'plain calls');
    this.bulkhead = made.bulkhead as Bulkhead | undefined;
    const retry = stages.find((recipe) => recipe.kind === 'retry');
    const bulkhead = stages.find((recipe) => recipe.kind === 'bulkhead');
    this.mostAttempts = retry?.attempts ?? 1;
    this.mostAtOnce = bulkhead?.holds === true ? bulkhead.slots : Infinity;
  }

  /** Slots that are taken, and places in its queue. */
  get held(): number {
    return (this.bulkhead?.active ?? 0) + (this.bulkhead?.queued ?? 0);
  }

  call(step: PlainCallStep, id: string, caller: Caller | undefined): Started {
    const owner: RunOwner = { ...NOBODY, id, caller, budgetMs: step.budget };
    const started = new Started(this.means.watch, owner, 'plain call');
    let begun = 0;
    const work = (context: AttemptContext): unknown => {
      const attempt = this.begin(started, context);
      begun += 1;
      this.require(begun <= this.mostAttempts, 'retries-as-told', `${id} makes ${begun} attempts`);
      const next = step.works[Math.min(begun, step.works.length) - 1] as Work;
      return this.means.works.perform(next, attempt);
    };
    const { budget } = step;
    const options = this.means.builder.options({
      source: id,
      ...(caller !== undefined && { signal: caller.controller.signal }),
      ...(budget !== undefined && { budget }),
    });
    started.follow(this.policy.execute(work, options)).catch(() => {});

    return started;
  }

  private begin({ settled, reasons, owner }: Started, context: AttemptContext): AttemptRecord {
    this.require(settled === undefined, 'nothing-for-nobody', `${owner.id} begins work after its end`);
    this.require(reasons.length === 0, 'nothing-for-nobody', `${owner.id} begins work although ${show(reasons[0])}`);
    const attempt = new AttemptRecord(this.runOf(owner), context);
    this.attempts.push(attempt);
    const atOnce = this.attempts.filter(({ works }) => works).length;
    this.require(atOnce <= this.mostAtOnce, 'slots-as-counted', `${atOnce} works run at once`);

    return attempt;
  }

  private runOf(owner: RunOwner): Run {
    return new Run(this.means.watch, owner, undefined);
  }

  private require(...[holds, invariant, what]: Parameters<Watch['require']>): void {
    this.means.watch.require(holds, invariant, what);
  }
}

const NOBODY: RunOwner = {
  id: 'nobody',
  caller: undefined,
  outer: undefined,
  follows: undefined,
  around: undefined,
  ambient: true,
  isOpened: true,
  budgetMs: undefined,
  sharesId: false,
};
