import type { InvariantId, Violation } from './invariants.js';
import type { State } from './coverage.js';
import type { World } from './world.js';

/** Whether a limit's error counts against a breaker, where that is known. */
export type Blame = 'counts' | 'does not count' | 'unknown';

interface Spent {
  timers: number;
  controllers: number;
}

/** What is later than that tells of the event loop, not of the work: timers, and what a limit has cut. In milliseconds. */
export const STALL_MS = 50;

/** What all models of one execution share: time, what was found, and what was reached. */
export class Watch {
  readonly violations: Violation[] = [];
  readonly reached = new Set<State>();
  /** Runs in each callback that a user could have written, and each listener. */
  callback: () => void = () => {};
  /** How late the timers were that ended something with an error, in milliseconds. */
  readonly lateness = new WeakMap<object, number>();
  private readonly blames = new WeakMap<object, Blame>();
  private readonly startedAt: number;
  /** What has been spent on what callbacks do, which is nobody's cost but theirs. */
  private callbackCost: Spent = { timers: 0, controllers: 0 };

  constructor(readonly world: World) {
    this.startedAt = world.now;
  }

  get now(): number {
    return this.world.now;
  }

  /** What the engine has spent so far of its own accord. */
  get spent(): Spent {
    const { timersStarted, controllersMade } = this.world;
    const { timers, controllers } = this.callbackCost;

    return { timers: timersStarted - timers, controllers: controllersMade - controllers };
  }

  inCallback(): void {
    const before = this.spent;
    this.callback();
    const { timers, controllers } = this.spent;
    this.callbackCost.timers += timers - before.timers;
    this.callbackCost.controllers += controllers - before.controllers;
  }

  reach(state: State): void {
    this.reached.add(state);
  }

  require(holds: boolean, invariant: InvariantId, what: string): void {
    if (!holds) this.violations.push({ invariant, what, at: this.now - this.startedAt });
  }

  blame(error: unknown, blame: Blame): void {
    if (typeof error === 'object' && error !== null) this.blames.set(error, blame);
  }

  blameOf(error: unknown): Blame {
    return (typeof error === 'object' && error !== null && this.blames.get(error)) || 'unknown';
  }
}

interface ErrorShape {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly status?: unknown;
  readonly cause?: unknown;
  readonly policy?: unknown;
  readonly timeoutMs?: number;
  readonly budgetMs?: number;
  readonly retryAfterMs?: number;
  readonly reason?: unknown;
}

/** What stands on an error; nothing on other values. */
export function shapeOf(error: unknown): ErrorShape {
  return typeof error === 'object' && error !== null ? error : {};
}

const REFUSALS: readonly unknown[] = ['CIRCUIT_OPEN', 'BULKHEAD_FULL', 'RATE_LIMITED'];

export function isRefusal(error: unknown): boolean {
  return REFUSALS.includes(shapeOf(error).code);
}

/** The error of a limit, also behind the form in which sections pass it on. */
export function limitIn(error: unknown): ErrorShape | undefined {
  const shape = shapeOf(error);
  const inner = shape.name === 'TimeoutError' ? shapeOf(shape.cause) : shape;

  return inner.code === 'TIMEOUT' || inner.code === 'DEADLINE_EXCEEDED' ? inner : undefined;
}

export function show(value: unknown): string {
  const { code, name } = shapeOf(value);
  if (typeof code === 'string') return code;

  return value instanceof Error ? `${String(name)} "${value.message}"` : String(value);
}
