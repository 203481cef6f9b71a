import type { FallbackRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { show } from '../watch.js';
import { isFlaw, says } from './predicates.js';
import { StageModel, type Place, type Told } from './stage-model.js';

interface FallbackFrame {
  /** The attempt that it stands in. */
  readonly attemptNumber: number;
  back: Outcome | undefined;
  expects: 'the same outcome' | 'an answer' | 'an error of its own';
  answered: number;
  told: number;
}

/** An answer instead of a failure. */
export class FallbackModel extends StageModel<FallbackFrame> {
  constructor(
    place: Place,
    private readonly recipe: FallbackRecipe,
  ) {
    super(place);
  }

  goIn(): void {}

  /** Its handler is called. */
  onHandler(error: unknown): Run | undefined {
    const run = this.current;
    const frame = run === undefined ? undefined : this.frames.get(run);
    if (run === undefined || frame === undefined) {
      this.require(false, 'fallback-as-told', 'answers for a call that is over');
      return undefined;
    }

    frame.answered += 1;
    const isRight = frame.expects === 'an answer' && frame.answered === 1 && frame.back?.value === error;
    this.require(isRight, 'fallback-as-told', `answers for ${show(error)}`);
    this.require(frame.told === 1 || run.owner.sharesId, 'fallback-as-told', 'does not tell that it answers');
    this.watch.reach('fallback used');
    run.attemptNumber = frame.attemptNumber;
    run.isFlawed = false;

    return run;
  }

  override onEvent({ type, source, error }: Told): void {
    const run = this.current;
    const frame = run === undefined ? undefined : this.frames.get(run);
    if (type === 'fallback' && run?.owner.id === source && frame?.back?.value === error) frame!.told += 1;
  }

  protected begin(run: Run): FallbackFrame {
    return { attemptNumber: run.attemptNumber, back: undefined, expects: 'the same outcome', answered: 0, told: 0 };
  }

  protected onBack(run: Run, frame: FallbackFrame, outcome: Outcome): void {
    frame.back = outcome;
    const { handleIf } = this.recipe;
    if (outcome.ok || outcome.cutting || run.isLeft) return;

    frame.expects =
      handleIf === 'throws' ? 'an error of its own' : says(handleIf, outcome.value) ? 'an answer' : 'the same outcome';
  }

  protected onLeave(run: Run, frame: FallbackFrame, outcome: Outcome): void {
    const { expects, answered, back } = frame;
    if (expects === 'the same outcome') return this.requirePassed(back, outcome);
    if (expects === 'an answer') {
      this.require(answered === 1, 'fallback-as-told', `does not answer for ${show(back?.value)}`);
      return;
    }

    run.isFlawed = true;
    this.watch.reach('own error of a predicate');
    this.require(isFlaw(outcome), 'flaw-takes-the-place', `made ${show(outcome.value)} of an error of its predicate`);
  }
}
