import type { RateLimitRecipe } from '../scenario.js';
import type { Outcome, Run } from '../run.js';
import { shapeOf, show } from '../watch.js';
import { StageModel, type Place } from './stage-model.js';

interface TurnFrame {
  place: 'free' | 'waits' | 'granted' | 'refused' | 'inside';
  readonly run: Run;
  readonly turn: number;
  readonly waitMs: number;
  back: Outcome | undefined;
}

/** Tokens and turns, in whole milliseconds of a bucket that fills by one a millisecond. */
export class RateLimitModel extends StageModel<TurnFrame> {
  private filled: number;
  private countedAt: number;
  /** In the order of their turns. */
  private readonly waiting: TurnFrame[] = [];

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

    this.serve();
    const isIts = frame.place === 'free' || frame.place === 'granted';
    this.require(isIts, 'tokens-as-counted', `lets a call in that is ${frame.place}, ${this.untilTurn(frame)}`);
    frame.place = 'inside';
  }

  override check(isOver: boolean): void {
    this.fill();
    const due = this.due();
    const free = this.free(this.filled - due.length * this.recipe.perToken, this.waiting[due.length]);
    const { available } = this.policy;
    this.require(available === free, 'tokens-as-counted', `${available} tokens, expected ${free}`);
    if (!isOver) return;

    const late = [...this.frames.values()].filter(({ place }) => place === 'granted');
    this.require(late.length + due.length === 0, 'tokens-as-counted', 'does not keep to a turn');
  }

  protected begin(run: Run): TurnFrame {
    this.serve();
    const { perToken, maxWait } = this.recipe;
    const isFree = this.free(this.filled, this.waiting[0]) > 0;
    const turn = this.nextTurn();
    const waitMs = turn - this.watch.now;
    const place = isFree ? 'free' : waitMs > maxWait ? 'refused' : 'waits';
    const frame: TurnFrame = { place, run, turn, waitMs, back: undefined };
    if (place === 'free') this.filled -= perToken;
    if (place === 'waits') {
      this.waiting.push(frame);
      this.waiting.sort((one, other) => one.turn - other.turn);
      run.markWaiting(true);
      this.watch.reach('token wait');
    }

    return frame;
  }

  protected onBack(_run: Run, frame: TurnFrame, outcome: Outcome): void {
    frame.back = outcome;
  }

  protected onLeave(_run: Run, { place, waitMs, back }: TurnFrame, outcome: Outcome): void {
    if (back !== undefined) return this.requirePassed(back, outcome);

    this.watch.reach('rate limited');
    const { code, retryAfterMs } = shapeOf(outcome.value);
    this.require(!outcome.ok && code === 'RATE_LIMITED', 'reasons-apart', `refused with ${show(outcome.value)}`);
    this.requireOwn(outcome.value);
    const isRight = place === 'refused' && retryAfterMs === waitMs;
    this.require(isRight, 'tokens-as-counted', `refused for ${String(retryAfterMs)} ms, expected ${place} ${waitMs}`);
  }

  protected override onCut(run: Run, frame: TurnFrame): void {
    if (frame.place === 'waits') {
      this.watch.reach('aborted in a queue');
      this.waiting.splice(this.waiting.indexOf(frame), 1);
      run.markWaiting(false);
    } else if (frame.place === 'granted') {
      this.filled += this.recipe.perToken;
      this.serve();
    }
  }

  /** Those whose turn has come have their tokens, as far as there are any. */
  private serve(): void {
    this.fill();
    for (const frame of this.waiting.splice(0, this.due().length)) {
      frame.place = 'granted';
      frame.run.markWaiting(false);
      this.filled -= this.recipe.perToken;
    }
  }

  private due(): TurnFrame[] {
    const tokens = Math.floor(this.filled / this.recipe.perToken);

    return this.waiting.filter(({ turn }) => turn <= this.watch.now).slice(0, tokens);
  }

  /** Tokens that the first who waits does not need, who has its own all the same when its turn comes. */
  private free(filled: number, first: TurnFrame | undefined): number {
    const { perToken } = this.recipe;
    const left = first === undefined ? Infinity : filled + this.untilTurn(first) - perToken;

    return Math.max(0, Math.floor(Math.min(filled, left) / perToken));
  }

  /** The first moment at which there is a token and that is at least as far from the turns around it. */
  private nextTurn(): number {
    const { perToken } = this.recipe;
    const [first] = this.waiting;
    const nextToken = this.watch.now + perToken - this.filled;
    if (first === undefined || this.filled + this.untilTurn(first) >= 2 * perToken) return nextToken;

    const isLate = first.turn <= this.watch.now;
    const earliest = isLate ? nextToken + this.waiting.length * perToken : 0;
    const turns = this.waiting.map(({ turn }) => Math.max(turn + perToken, earliest));

    return turns.find((turn, index) => turn + perToken <= (this.waiting[index + 1]?.turn ?? Infinity)) as number;
  }

  private untilTurn({ turn }: TurnFrame): number {
    return turn - this.watch.now;
  }

  private fill(): void {
    const { limit, perToken } = this.recipe;
    const { now } = this.watch;
    this.filled = Math.min(limit * perToken, this.filled + now - this.countedAt);
    this.countedAt = now;
  }
}
