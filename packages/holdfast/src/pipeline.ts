import type { Attempt } from './attempt.js';
import type { Execution } from './execution.js';
import { earlierBound, type Bound } from './scope.js';

/**
 * One stage of a pipeline; every policy is one.
 *
 * @internal
 */
export interface Stage {
  readonly name: string;
  /**
   * Lets a call in. `false` when it may not go on now: the stage has refused it with {@link Execution.refuse}, or
   * will let it go on with {@link Execution.proceed}.
   */
  enter(execution: Execution, at: number): boolean;
  /**
   * Sees the outcome in `execution.ok` and `execution.value`, and gives back whatever the call holds here. `false`
   * when the stage takes over. While `execution.cutting`, the call is being given up from further outside: the stage
   * may only clean up.
   */
  leave(execution: Execution, at: number): boolean;
  /** The work is about to be given up, and may run on; called before `leave`. */
  keepFor?(execution: Execution, at: number, attempt: Attempt): void;
  /** Something of the outcome leaves, with more to come: what is in time is so now. */
  onCommit?(execution: Execution, at: number): void;
  /** The limit by which this stage will cut what runs inside. */
  boundOf?(execution: Execution, at: number): Bound | undefined;
  /** Whether it may stand at several places of one pipeline. */
  readonly repeatable: boolean;
  /** Whether an attempt inside has a limit in time. */
  readonly limits: boolean;
  /** Whether it answers for what fails inside, so that a budget of the call does not bound it. */
  readonly answersFailures: boolean;
  /** That limit in milliseconds, where it is fixed. */
  readonly limitMs: number | undefined;
}

/**
 * The stages of a policy, outermost first, and what follows from them for every call. Composed once.
 *
 * @internal
 */
export class Pipeline {
  readonly stages: readonly Stage[];
  /** Whether some stage holds something for work that is given up. */
  readonly holdsForWork: boolean;
  /** The place of the outermost stage that limits an attempt in time; that of the work without one. */
  readonly outermostLimit: number;
  /**
   * Of all stages but the outermost. Copied for each call that has something to remember: filling a new array takes
   * several times as long.
   */
  readonly noInnerFrames: readonly undefined[];

  /** @throws TypeError when a stage stands at two places that would wait for, or count, each other. */
  constructor(stages: readonly Stage[]) {
    const twice = stages.find((stage, at) => !stage.repeatable && stages.indexOf(stage) < at);
    if (twice !== undefined) {
      throw new TypeError(`"${twice.name}" stands twice in one policy, and would meet itself. Use it once.`);
    }

    this.stages = stages;
    this.noInnerFrames = stages.slice(1).map(() => undefined);
    const at = stages.findIndex((stage) => stage.limits);
    this.outermostLimit = at < 0 ? stages.length : at;
    this.holdsForWork = stages.some((stage) => stage.keepFor !== undefined);
  }

  /** Whether some stage limits an attempt in time. */
  get limits(): boolean {
    return this.outermostLimit < this.stages.length;
  }

  /** The same with a budget for one call, which stands inside of what answers for failures. */
  within(budget: Stage): Pipeline {
    const at = this.stages.findIndex((stage) => !stage.answersFailures);
    const stages = [...this.stages];
    stages.splice(at < 0 ? stages.length : at, 0, budget);

    return new Pipeline(stages);
  }

  /** The limit that will cut a call which is inside of all stages. */
  bound(execution: Execution): Bound | undefined {
    return this.stages.reduce<Bound | undefined>(
      (first, stage, at) => earlierBound(first, stage.boundOf?.(execution, at)),
      undefined,
    );
  }

  /** The longest fixed limit inside the stage at this place, in milliseconds; 0 when there is none. */
  limitInside(at: number): number {
    return this.stages.slice(at + 1).reduce((longest, stage) => Math.max(longest, stage.limitMs ?? 0), 0);
  }
}
