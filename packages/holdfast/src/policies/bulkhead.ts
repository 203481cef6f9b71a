import type { Attempt, Holding } from '../attempt.js';
import { brand } from '../brand.js';
import { now } from '../clock.js';
import { parseDuration, type Duration } from '../duration.js';
import { BulkheadFullError } from '../errors.js';
import type { Execution } from '../execution.js';
import { rejectUnknown, requireBoolean, requireCount, requireName, requireObject } from '../options.js';
import { StagePolicy } from '../policy.js';
import { startLimit, stopTimer, type LimitTarget, type Timer } from '../timers.js';
import { WaitingLine, type Linked } from './waiting-line.js';

export interface BulkheadOptions {
  /** Shown in events and errors. Default `'bulkhead'`. */
  readonly name?: string | undefined;
  /** How many calls run at the same time: whole, at least 1, or `Infinity` to count only. Default 10. */
  readonly maxConcurrent?: number | undefined;
  /** How many more wait for a slot: whole, at least 0, or `Infinity`. Default 0. */
  readonly maxQueue?: number | undefined;
  /** How long each of them waits at most. Default: no limit; 0 is legal. */
  readonly queueTimeout?: Duration | undefined;
  /**
   * Whether the slot of a call that was given up stays taken until its work has ended. Default: `true` for
   * `execute()`, so that never more work runs than the limit says; `false` at entrypoints, which count it instead.
   */
  readonly holdUntilSettled?: boolean | undefined;
}

const KNOWN = ['name', 'maxConcurrent', 'maxQueue', 'queueTimeout', 'holdUntilSettled'] as const;

export interface ResolvedBulkheadOptions {
  readonly name: string;
  readonly maxConcurrent: number;
  readonly maxQueue: number;
  readonly queueTimeout: number | undefined;
  readonly holdUntilSettled: boolean | undefined;
}

/**
 * Validates options and fills in the defaults.
 *
 * @throws TypeError naming the option.
 */
export function resolveBulkheadOptions(options: BulkheadOptions): ResolvedBulkheadOptions {
  requireObject(options, '', 'Use { maxConcurrent: 10 }.');
  rejectUnknown(options, KNOWN);
  const { name = 'bulkhead', maxConcurrent = 10, maxQueue = 0, queueTimeout, holdUntilSettled } = options;

  return {
    name: requireName(name, 'name'),
    maxConcurrent: requireCount(maxConcurrent, 'maxConcurrent', { min: 1, infinite: true }),
    maxQueue: requireCount(maxQueue, 'maxQueue', { min: 0, infinite: true }),
    queueTimeout: queueTimeout === undefined ? undefined : parseDuration(queueTimeout, 'queueTimeout'),
    holdUntilSettled: holdUntilSettled === undefined ? undefined : requireBoolean(holdUntilSettled, 'holdUntilSettled'),
  };
}

/** The frame of a call that simply holds a slot. */
const HELD = Symbol('slot held');

/**
 * Caps how many calls run at the same time. Further ones wait in a queue, first come, first served, or are refused. A
 * slot that becomes free goes to the head of the queue at once, so that nobody overtakes.
 */
export class BulkheadPolicy extends StagePolicy {
  readonly maxConcurrent: number;
  readonly maxQueue: number;
  /** In milliseconds; `undefined` without a limit. */
  readonly queueTimeout: number | undefined;
  private readonly holdUntilSettled: boolean | undefined;
  private readonly queue = new WaitingLine<Waiter>();
  private running = 0;
  private abandonedCalls = 0;

  constructor(options: BulkheadOptions = {}) {
    const resolved = resolveBulkheadOptions(options);
    super(resolved.name);
    this.maxConcurrent = resolved.maxConcurrent;
    this.maxQueue = resolved.maxQueue;
    this.queueTimeout = resolved.queueTimeout;
    this.holdUntilSettled = resolved.holdUntilSettled;
  }

  /** Calls that hold a slot. */
  get active(): number {
    return this.running;
  }

  /** Calls that wait for one. */
  get queued(): number {
    return this.queue.length;
  }

  /** Calls whose slot was given back at a limit although their work has not ended. */
  get abandoned(): number {
    return this.abandonedCalls;
  }

  /** @internal Inside itself it would wait for its own slot, or refuse its own probe. */
  override get repeatable(): boolean {
    return false;
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    if (this.running < this.maxConcurrent) {
      this.running += 1;
      execution.setFrame(at, HELD);
      return true;
    }

    if (this.queue.length >= this.maxQueue) this.turnAway(execution, at, 'full');
    else this.enqueue(execution, at);
    return false;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const frame = execution.frame(at);
    if (frame === undefined) return true;

    execution.setFrame(at, undefined);
    if (frame === HELD) this.release();
    else if (frame instanceof Waiter) this.withdraw(frame);
    else (frame as KeptSlot).leave();
    return true;
  }

  /** @internal */
  keepFor(execution: Execution, at: number, attempt: Attempt): void {
    let frame = execution.frame(at);
    if (frame === HELD) {
      frame = new KeptSlot(this, execution, this.holdUntilSettled ?? execution.keepsSlots);
      execution.setFrame(at, frame);
    }
    if (frame instanceof KeptSlot) frame.keepFor(attempt);
  }

  /** @internal Gives a slot back: the head of the queue takes it, if there is one. */
  release(): void {
    const next = this.queue.first;
    if (next === undefined) {
      this.running -= 1;
      return;
    }

    this.queue.remove(next);
    next.grant();
  }

  /** @internal */
  onAbandoned(source: string | undefined): void {
    this.abandonedCalls += 1;
    this.release();
    if (this.isObserved('abandoned')) {
      this.emit({ type: 'abandoned', policy: this.name, source, abandoned: this.abandonedCalls });
    }
  }

  /** @internal */
  onAbandonedEnded(): void {
    this.abandonedCalls -= 1;
  }

  /** @internal */
  expire(waiter: Waiter): void {
    this.queue.remove(waiter);
    waiter.execution.markWaiting(false);
    waiter.execution.setFrame(waiter.at, undefined);
    this.turnAway(waiter.execution, waiter.at, 'queue-timeout');
  }

  private enqueue(execution: Execution, at: number): void {
    const waiter = new Waiter(this, execution, at);
    execution.setFrame(at, waiter);
    this.queue.insert(waiter, this.queue.last);
    execution.markWaiting(true);
    waiter.wait(this.queueTimeout);
  }

  private withdraw(waiter: Waiter): void {
    if (waiter.isGranted) {
      this.release();
      return;
    }

    waiter.stop();
    this.queue.remove(waiter);
    waiter.execution.markWaiting(false);
  }

  private turnAway(execution: Execution, at: number, reason: 'full' | 'queue-timeout'): void {
    const { step, source } = execution;
    if (this.isObserved('bulkhead-rejected')) {
      const { active, queued } = this;
      this.emit({ type: 'bulkhead-rejected', policy: this.name, source, reason, active, queued });
    }
    if (execution.step === step) execution.refuse(at, new BulkheadFullError(this.name, reason));
  }
}

brand(BulkheadPolicy, Symbol.for('holdfast.policy.bulkhead'));

/**
 * A slot of a call that was given up while its work may run on.
 *
 * @internal
 */
class KeptSlot implements Holding {
  private working = 0;
  private state: 'inside' | 'held' | 'abandoned' = 'inside';
  private readonly bulkhead: BulkheadPolicy;
  private readonly execution: Execution;
  private readonly holds: boolean;

  constructor(bulkhead: BulkheadPolicy, execution: Execution, holds: boolean) {
    this.bulkhead = bulkhead;
    this.execution = execution;
    this.holds = holds;
  }

  keepFor(attempt: Attempt): void {
    this.working += 1;
    attempt.hold(this);
  }

  /** The call leaves the bulkhead. */
  leave(): void {
    if (this.working === 0) {
      this.bulkhead.release();
    } else if (this.holds) {
      this.state = 'held';
    } else {
      this.state = 'abandoned';
      this.bulkhead.onAbandoned(this.execution.source);
    }
  }

  onWorkEnded(): void {
    this.working -= 1;
    if (this.working > 0) return;

    if (this.state === 'held') this.bulkhead.release();
    else if (this.state === 'abandoned') this.bulkhead.onAbandonedEnded();
  }
}

/**
 * A call in the queue.
 *
 * @internal
 */
class Waiter implements Linked<Waiter>, LimitTarget {
  readonly execution: Execution;
  readonly at: number;
  previous: Waiter | undefined = undefined;
  next: Waiter | undefined = undefined;
  isGranted = false;
  lifted = false;
  dueAt = Infinity;
  private timer: Timer = undefined;
  private wake: (waiter: Waiter) => void = goOn;
  private readonly bulkhead: BulkheadPolicy;

  constructor(bulkhead: BulkheadPolicy, execution: Execution, at: number) {
    this.bulkhead = bulkhead;
    this.execution = execution;
    this.at = at;
  }

  wait(queueTimeoutMs: number | undefined): void {
    // The call goes on in a continuation of its own, in its caller's async context and not in that of whoever
    // gives the slot back. It is told of the waiter, so that one function does for all who wait.
    void new Promise<Waiter>((resolve) => (this.wake = resolve)).then(goOn);
    if (queueTimeoutMs === undefined) return;

    this.dueAt = now() + queueTimeoutMs;
    this.timer = startLimit(queueTimeoutMs, this);
  }

  /** The slot is this call's from here on, whatever comes between. */
  grant(): void {
    this.isGranted = true;
    this.stop();
    this.execution.markWaiting(false);
    this.wake(this);
  }

  expire(): void {
    if (this.lifted) return;

    this.lifted = true;
    this.bulkhead.expire(this);
  }

  stop(): void {
    this.lifted = true;
    stopTimer(this.timer);
  }
}

/** A call that was granted the slot goes on, unless it has left meanwhile. */
function goOn(waiter: Waiter): void {
  const { execution, at } = waiter;
  if (execution.frame(at) !== waiter) return;

  execution.setFrame(at, HELD);
  execution.proceed(at + 1);
}
