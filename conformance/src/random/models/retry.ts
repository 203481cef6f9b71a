import type { Predicate, RetryRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { isRefusal, shapeOf, show } from '../watch.js';
import { isFlaw, says } from './predicates.js';
import { StageModel, type Place, type Told } from './stage-model.js';

interface RetryFrame {
  failed: number;
  back: Outcome | undefined;
  expects: 'an attempt' | 'the same outcome' | 'an error of its own';
  /** When the next attempt begins. */
  nextAt: number;
  delayMs: number;
}

/** Attempts, one after the other. */
export class RetryModel extends StageModel<RetryFrame> {
  constructor(
    place: Place,
    private readonly recipe: RetryRecipe,
  ) {
    super(place);
  }

  goIn(run: Run): void {
    const frame = this.frames.get(run);
    if (frame === undefined || frame.back === undefined) return;

    const { now } = this.watch;
    this.require(frame.expects === 'an attempt', 'retries-as-told', 'made an attempt too many');
    this.require(frame.nextAt <= now, 'retries-as-told', `began ${frame.nextAt - now} ms too early`);
    frame.back = undefined;
    frame.failed += 1;
    run.attemptNumber = frame.failed + 1;
  }

  override onEvent({ type, source, ...told }: Told): void {
    const run = this.current;
    const frame = run === undefined ? undefined : this.frames.get(run);
    if (type !== 'retry' || run?.owner.id !== source || frame === undefined) return;

    const { back, delayMs, expects, failed } = frame;
    const error = back?.ok === true ? undefined : back?.value;
    const isTrue = told.attempt === failed + 1 && told.delayMs === delayMs && told.error === error;
    this.require(expects === 'an attempt' && isTrue, 'retries-as-told', 'told of a retry that is another one');
    this.watch.reach('retried');
  }

  override check(isOver: boolean): void {
    if (!isOver) return;

    for (const { back, expects, nextAt } of this.frames.values()) {
      const isOverdue = back !== undefined && expects === 'an attempt' && nextAt <= this.watch.now;
      this.require(!isOverdue, 'retries-as-told', 'did not begin the next attempt in time');
    }
  }

  protected begin(run: Run): RetryFrame {
    run.attemptNumber = 1;

    return { failed: 0, back: undefined, expects: 'an attempt', nextAt: 0, delayMs: 0 };
  }

  protected onBack(run: Run, frame: RetryFrame, outcome: Outcome): void {
    frame.back = outcome;
    if (outcome.cutting) return;

    frame.expects = this.expected(run, frame, outcome);
    if (frame.expects !== 'an attempt') return;

    frame.delayMs = this.delayAfter(frame.failed + 1, outcome);
    frame.nextAt = this.watch.now + frame.delayMs;
    if (run.isOutOfTime(frame.delayMs)) frame.expects = 'the same outcome';
  }

  protected onLeave(run: Run, { expects, back, failed }: RetryFrame, outcome: Outcome): void {
    if (expects === 'an error of its own') {
      run.isFlawed = true;
      this.watch.reach('own error of a predicate');
      this.require(isFlaw(outcome), 'flaw-takes-the-place', `made ${show(outcome.value)} of an error of its predicate`);
      return;
    }
    this.require(expects === 'the same outcome', 'retries-as-told', `gave up after ${failed + 1} attempts`);
    this.requirePassed(back, outcome);
  }

  protected override onCut(_run: Run, frame: RetryFrame): void {
    if (frame.back !== undefined && !frame.back.cutting) this.watch.reach('aborted while it waits');
  }

  private expected(run: Run, { failed }: RetryFrame, { ok, value }: Outcome): RetryFrame['expects'] {
    const { attempts, onResult, retryIf } = this.recipe;
    if (ok && onResult === undefined) return 'the same outcome';
    if (run.isFlawed || failed + 1 >= attempts || run.isLeft || (!ok && isRefusal(value))) return 'the same outcome';

    const predicate = ok ? (onResult as Predicate) : retryIf;
    if (predicate === 'throws') return 'an error of its own';

    return says(predicate, value) ? 'an attempt' : 'the same outcome';
  }

  private delayAfter(failed: number, { ok, value }: Outcome): number {
    const { delay, factor } = this.recipe;
    const { retryAfterMs, cause } = shapeOf(value);
    const hint = ok ? 0 : (retryAfterMs ?? shapeOf(cause).retryAfterMs ?? 0);

    return Math.max(delay * factor ** (failed - 1), hint);
  }
}
