import type { BulkheadRecipe } from '../scenario.js';
import type { AttemptRecord, Outcome, Run } from '../run.js';
import { shapeOf, show } from '../watch.js';
import { RefusalCost } from './refusal-cost.js';
import { StageModel, type Place, type Told } from './stage-model.js';

interface BulkheadFrame {
  place: 'slot' | 'inside' | 'refused' | 'queue' | 'granted' | 'expired';
  readonly queuedUntil: number;
  readonly cost: RefusalCost;
  /** How many attempts of the call had been given up before it came here. */
  readonly abandonedBefore: number;
  back: Outcome | undefined;
}

interface Counts {
  readonly active: number;
  readonly queued: number;
  readonly abandoned: number;
}

/** Slots, and who waits for one: first come, first served. */
export class BulkheadModel extends StageModel<BulkheadFrame> {
  private active = 0;
  private readonly queue: Run[] = [];
  /** Calls that have left work behind which runs on, and may keep their slot. */
  private readonly kept: (readonly AttemptRecord[])[] = [];

  constructor(
    place: Place,
    private readonly recipe: BulkheadRecipe,
    private readonly counts: Counts,
  ) {
    super(place);
  }

  goIn(run: Run): void {
    this.giveBackKept();
    const frame = this.frames.get(run);
    if (frame === undefined) return;

    // What comes in again, from a retry inside, still has its slot.
    const isIts = frame.place === 'slot' || frame.place === 'granted' || frame.back !== undefined;
    this.require(isIts, 'slots-as-counted', `lets a call in that is ${frame.place}`);
    frame.place = 'inside';
  }

  /** Who has waited for too long is out of the queue before anybody hears of it. */
  override onEvent({ type, source, reason }: Told): void {
    if (type !== 'bulkhead-rejected' || reason !== 'queue-timeout') return;

    const frameOf = (run: Run): BulkheadFrame => this.frames.get(run) as BulkheadFrame;
    const run = this.queue.find((one) => one.owner.id === source && frameOf(one).queuedUntil <= this.watch.now);
    this.require(run !== undefined, 'limit-to-the-millisecond', 'ends a wait in its queue too early');
    if (run === undefined) return;

    frameOf(run).place = 'expired';
    this.leaveQueue(run);
  }

  override check(isOver: boolean): void {
    this.giveBackKept();
    const { active, queued, abandoned } = this.counts;
    const runOn = this.recipe.holds ? 0 : this.kept.length;
    const isSame = active === this.active && queued === this.queue.length && abandoned === runOn;
    this.require(
      isSame,
      'slots-as-counted',
      `${active} active, ${queued} queued, ${abandoned} abandoned; expected ${this.active}, ${this.queue.length}, ${runOn}`,
    );
    if (!isOver) return;

    for (const { place, queuedUntil } of this.frames.values()) {
      this.require(place !== 'granted', 'slots-as-counted', 'grants a slot that nobody takes');
      const waits = place === 'queue' && queuedUntil <= this.watch.now;
      this.require(!waits, 'limit-to-the-millisecond', 'lets a call wait for longer than its queue timeout');
    }
  }

  protected begin(run: Run): BulkheadFrame {
    const { slots, queue, queueTimeout = Infinity } = this.recipe;
    const queuedUntil = this.watch.now + queueTimeout;
    const abandonedBefore = run.abandoned.length;
    const frame = { queuedUntil, abandonedBefore, cost: new RefusalCost(this.watch), back: undefined };
    // Of work that has ended just now, the slot is free.
    this.giveBackKept();
    if (this.active < slots) {
      this.active += 1;
      return { ...frame, place: 'slot' };
    }
    if (this.queue.length >= queue) return { ...frame, place: 'refused' };

    this.queue.push(run);
    run.markWaiting(true);
    return { ...frame, place: 'queue' };
  }

  protected onBack(_run: Run, frame: BulkheadFrame, outcome: Outcome): void {
    frame.back = outcome;
  }

  protected onLeave(run: Run, frame: BulkheadFrame, outcome: Outcome): void {
    if (frame.place === 'refused') {
      this.watch.reach('queue full');
      this.requireRefusal(outcome, 'full');
      frame.cost.requireNone(this.name, outcome.value);
      return;
    }
    if (frame.place === 'expired') {
      this.watch.reach('queue timeout');
      this.requireRefusal(outcome, 'queue-timeout');
      return;
    }

    this.requirePassed(frame.back, outcome);
    this.giveBack(run, frame);
  }

  protected override onCut(run: Run, frame: BulkheadFrame): void {
    if (frame.place === 'queue') {
      this.watch.reach('aborted in a queue');
      this.leaveQueue(run);
    } else if (frame.place !== 'refused' && frame.place !== 'expired') {
      this.giveBack(run, frame);
    }
  }

  private requireRefusal({ ok, value }: Outcome, reason: string): void {
    const { code, reason: given } = shapeOf(value);
    this.require(!ok && code === 'BULKHEAD_FULL' && given === reason, 'reasons-apart', `refused with ${show(value)}`);
    this.requireOwn(value);
  }

  private leaveQueue(run: Run): void {
    this.queue.splice(this.queue.indexOf(run), 1);
    run.markWaiting(false);
  }

  /** A slot stays taken for work that was given up inside, until all of that has ended. */
  private giveBack(run: Run, { abandonedBefore }: BulkheadFrame): void {
    const left = run.abandoned.slice(abandonedBefore).filter(({ works }) => works);
    if (left.length === 0) return this.release();

    this.kept.push(left);
    this.watch.reach('abandoned');
    if (!this.recipe.holds) this.release();
  }

  private giveBackKept(): void {
    for (const left of [...this.kept]) {
      if (left.some(({ works }) => works)) continue;

      this.kept.splice(this.kept.indexOf(left), 1);
      if (this.recipe.holds) this.release();
    }
  }

  private release(): void {
    const next = this.queue.shift();
    if (next === undefined) {
      this.active -= 1;
      return;
    }
    this.watch.reach('granted from the queue');
    (this.frames.get(next) as BulkheadFrame).place = 'granted';
    next.markWaiting(false);
  }
}
