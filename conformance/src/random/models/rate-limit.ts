import type { RateLimitRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { shapeOf, show } from '../watch.js';
import { StageModel, type Place } from './stage-model.js';

interface TurnFrame {
  place: 'free' | 'waits' | 'refused' | 'inside';
  readonly turn: number;
  readonly waitMs: number;
  /** When its wait is over: a turn that has come while the event loop was held is taken a millisecond later. */
  readonly dueAt: number;
  back: Outcome | undefined;
}

/** Tokens and turns, in whole milliseconds of a bucket that fills by one a millisecond. */
export class RateLimitModel extends StageModel<TurnFrame> {
  private filled: number;
  private countedAt: number;
  private lastTurn = 0;
  private waiting = 0;
  /** Turns of calls that have left; the next calls take them over. */
  private freeTurns: number[] = [];
  /** Whether turns came late, so that those after them are only known at least. */
  private isLate = false;

  constructor(
    place: Place,
    private readonly recipe: RateLimitRecipe,
    private readonly policy: { readonly available: number },
  ) {
    super(place);
    this.filled = recipe.limit * recipe.perToken;
    this.countedAt = this.watch.now;
  }

  goIn(run: Run): void {
    const frame = this.frames.get(run);
    if (frame === undefined || frame.place === 'inside') return;

    this.fill();
    this.require(frame.place !== 'refused', 'tokens-as-counted', 'lets a call in that it has to refuse');
    if (frame.place === 'waits') {
      this.requireTurn(frame);
      this.endWait(run);
    }
    frame.place = 'inside';
    this.filled -= this.recipe.perToken;
    this.require(this.filled >= 0, 'tokens-as-counted', 'starts more calls than there are tokens');
  }

  override check(isOver: boolean): void {
    this.fill();
    const { perToken } = this.recipe;
    const free = Math.max(0, Math.floor(this.filled / perToken) - this.waiting);
    const { available } = this.policy;
    this.require(available === free, 'tokens-as-counted', `${available} tokens, expected ${free}`);
    if (!isOver || this.isLate) return;

    const late = [...this.frames.values()].filter(({ place, dueAt }) => place === 'waits' && dueAt <= this.watch.now);
    this.require(late.length === 0, 'tokens-as-counted', 'does not keep to a turn');
  }

  protected begin(run: Run): TurnFrame {
    this.fill();
    const { perToken, maxWait } = this.recipe;
    const { now } = this.watch;
    const isFree = this.filled - this.waiting * perToken >= perToken;
    const next = this.waiting === 0 ? now + perToken - this.filled : (this.freeTurns[0] ?? this.lastTurn + perToken);
    const turn = this.isLate ? now : next;
    const waitMs = Math.max(1, turn - now);
    const place = isFree ? 'free' : waitMs > maxWait && !this.isLate ? 'refused' : 'waits';
    if (place === 'waits') {
      if (this.freeTurns.shift() === undefined) this.lastTurn = turn;
      this.waiting += 1;
      run.markWaiting(true);
      this.watch.reach('token wait');
    }

    return { place, turn, waitMs, dueAt: now + waitMs, back: undefined };
  }

  protected onBack(_run: Run, frame: TurnFrame, outcome: Outcome): void {
    frame.back = outcome;
  }

  protected onLeave(run: Run, { place, waitMs, back }: TurnFrame, outcome: Outcome): void {
    if (back !== undefined) return this.requirePassed(back, outcome);

    const wasLate = this.isLate;
    if (place === 'waits' && wasLate) this.endWait(run);

    this.watch.reach('rate limited');
    const { code, retryAfterMs } = shapeOf(outcome.value);
    this.require(!outcome.ok && code === 'RATE_LIMITED', 'reasons-apart', `refused with ${show(outcome.value)}`);
    this.requireOwn(outcome.value);
    const isRight = wasLate || (place === 'refused' && retryAfterMs === waitMs);
    this.require(isRight, 'tokens-as-counted', `refused for ${String(retryAfterMs)} ms, expected ${place} ${waitMs}`);
  }

  protected override onCut(run: Run, { place, turn }: TurnFrame): void {
    if (place !== 'waits') return;

    this.watch.reach('aborted in a queue');
    this.freeTurns = [...this.freeTurns, turn].toSorted((one, other) => one - other);
    this.endWait(run);
  }

  private requireTurn({ turn }: TurnFrame): void {
    const { now } = this.watch;
    this.require(turn <= now, 'tokens-as-counted', `comes ${turn - now} ms before its turn`);
    if (turn < now) this.isLate = true;
  }

  private endWait(run: Run): void {
    this.waiting -= 1;
    run.markWaiting(false);
    if (this.waiting > 0) return;

    this.freeTurns = [];
    this.isLate = false;
  }

  private fill(): void {
    const { limit, perToken } = this.recipe;
    const { now } = this.watch;
    this.filled = Math.min(limit * perToken, this.filled + now - this.countedAt);
    this.countedAt = now;
    this.freeTurns = this.freeTurns.filter((turn) => turn > now);
  }
}
