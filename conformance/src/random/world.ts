import { AsyncResource } from 'node:async_hooks';
import type { Draws } from './draws.js';

/**
 * The surroundings of a random execution: time, the wall clock, timers, and input that arrives by itself. Unlike the
 * clock of the scenarios it walks as an event loop does, one macrotask at a time with everything that follows from it,
 * lets the loop stand still, and keeps elapsed time and the wall clock apart: the engine is loaded inside of it (see
 * `engine.ts`), so that it takes both for the platform's own.
 */

/** A multiple of every stretch of time that a scenario speaks of, so that an execution is the same wherever it comes in a run. */
const ALIGNMENT_MS = 60_000;
const EPOCH_MS = 1_800_000_000_000;
/** A longer delay fires at once, as the platform's do. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;
/** Turns of the loop for one moment; more of them go round in circles. */
const MOST_TURNS = 2_000;

interface Due {
  readonly id: number;
  readonly at: number;
  /** Timers of one delay fire in their order, others of one moment in any; `undefined` for input. */
  readonly delayMs: number | undefined;
  /** Whether work has started it, and not the engine. */
  readonly isOfWork: boolean;
  readonly run: () => void;
  readonly context: AsyncResource;
}

const real = {
  Date: globalThis.Date,
  performance: globalThis.performance,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  AbortController: globalThis.AbortController,
};

export class World {
  /** Elapsed milliseconds, that no step of the wall clock moves. */
  now = 0;
  /** Since the world was made. */
  timersStarted = 0;
  controllersMade = 0;
  /** What was written to `console.error`. */
  readonly reports: unknown[][] = [];
  /** Called after each turn of the loop, and, with `true`, when all that is due at a moment has happened. */
  onTurn: (isOver: boolean) => void = () => {};
  private wallOffset = 0;
  private queue: Due[] = [];
  private immediates: Due[] = [];
  private latestId = 0;
  private draws: Draws | undefined;
  private readonly globals: Readonly<Record<string, unknown>>;
  private readonly printError = console.error;

  constructor() {
    this.globals = this.makeGlobals();
  }

  /** Timers of the engine that wait. */
  get timers(): number {
    return this.queue.filter(({ delayMs, isOfWork }) => delayMs !== undefined && !isOfWork).length;
  }

  /** Whether anything is still to come. */
  get isBusy(): boolean {
    return this.queue.length > 0 || this.immediates.length > 0;
  }

  /** One that does not count as made by the engine. */
  newController(): AbortController {
    return new real.AbortController();
  }

  /** @param timersToo Whether timers are ours as well; loaders of modules need real ones. */
  install(timersToo = true): void {
    const { Date: VirtualDate, performance, ...others } = this.globals;
    Object.assign(globalThis, { Date: VirtualDate }, timersToo ? others : {});
    Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true, writable: true });
    if (timersToo) console.error = (...given: unknown[]): void => void this.reports.push(given);
  }

  uninstall(): void {
    const { performance, ...others } = real;
    Object.assign(globalThis, others);
    Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true, writable: true });
    console.error = this.printError;
  }

  /** Begins another execution, at a moment like that of every other. */
  begin(draws: Draws): void {
    this.install();
    this.draws = draws;
    this.now = (Math.floor(this.now / ALIGNMENT_MS) + 1) * ALIGNMENT_MS;
    this.wallOffset = 0;
    this.queue = [];
    this.immediates = [];
    this.reports.length = 0;
  }

  /** Sets the wall clock ahead by so much, or back. */
  stepWallClock(ms: number): void {
    this.wallOffset += ms;
  }

  /** Calls back after so many milliseconds, as input does that arrives from outside. */
  arrive(ms: number, run: () => void): void {
    this.enqueue({ at: this.now + ms, delayMs: undefined, isOfWork: true, run });
  }

  /** A timer that work starts, which is none of the engine's. */
  startTimerOfWork(ms: number, run: () => void): void {
    this.enqueue({ at: this.now + ms, delayMs: ms, isOfWork: true, run });
  }

  /** Lets time pass, with everything that is due in it. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms;
    for (;;) {
      await this.walk();
      const next = Math.min(...this.queue.map(({ at }) => at));
      if (next > until) break;

      this.now = Math.max(this.now, next);
    }
    this.now = until;
  }

  /** Holds the event loop: time passes, and what was due in it comes late. */
  async stall(ms: number): Promise<void> {
    await this.walk();
    this.now += ms;
    await this.walk();
  }

  /** Lets everything happen that is due now: timers, then input, then what waits for input to be handled. */
  async walk(): Promise<void> {
    await this.turn(undefined);
    for (let turns = 0; this.hasWork(); turns++) {
      if (turns > MOST_TURNS) throw new Error('An execution goes round in circles.');

      const due = this.takeTimer() ?? this.takeInput() ?? (this.immediates.shift() as Due);
      await this.turn(due);
    }
    this.onTurn(true);
  }

  private async turn(due: Due | undefined): Promise<void> {
    due?.context.runInAsyncScope(due.run);
    await new Promise<void>((resolve) => void real.setImmediate(resolve));
    this.onTurn(false);
  }

  private hasWork(): boolean {
    return this.immediates.length > 0 || this.queue.some(({ at }) => at <= this.now);
  }

  /** The runtime walks through timers by their delays: all of one delay that are due, beginning with the earliest. */
  private takeTimer(): Due | undefined {
    const due = this.queue.filter(({ at, delayMs }) => at <= this.now && delayMs !== undefined);
    const first = Math.min(...due.map(({ at }) => at));
    const inPlace = due.filter(({ at }) => at === first);
    const firstOfEach = inPlace.filter(
      ({ delayMs }, index) => index === inPlace.findIndex((one) => one.delayMs === delayMs),
    );
    // Input of the very moment may be there before the timer looks.
    const rivals =
      first === this.now ? this.queue.filter(({ at, delayMs }) => at === first && delayMs === undefined) : [];

    return this.take([...firstOfEach, ...rivals]);
  }

  private takeInput(): Due | undefined {
    const due = this.queue.filter(({ at }) => at <= this.now);
    const first = Math.min(...due.map(({ at }) => at));

    return this.take(due.filter(({ at }) => at === first));
  }

  private take(candidates: readonly Due[]): Due | undefined {
    const taken = candidates.length > 1 ? this.draws?.pick(candidates) : candidates[0];
    if (taken !== undefined) this.queue.splice(this.queue.indexOf(taken), 1);

    return taken;
  }

  private enqueue(due: Omit<Due, 'id' | 'context'>): number {
    const id = ++this.latestId;
    this.queue.push({ ...due, id, context: new AsyncResource('Due') });

    return id;
  }

  private makeGlobals(): Readonly<Record<string, unknown>> {
    // oxlint-disable-next-line typescript/no-this-alias
    const world = this;
    return {
      Date: class extends real.Date {
        static override now(): number {
          return EPOCH_MS + world.now + world.wallOffset;
        }
      },
      performance: { now: () => world.now },
      setTimeout: <T>(callback: (given: T) => void, ms: number, given: T): number => {
        world.timersStarted += 1;
        const delayMs = ms > LONGEST_DELAY_MS ? 1 : ms;
        return world.enqueue({ at: world.now + delayMs, delayMs, isOfWork: false, run: () => callback(given) });
      },
      clearTimeout: (id: number | undefined): void => {
        const index = id === undefined ? -1 : world.queue.findIndex((due) => due.id === id);
        if (index >= 0) world.queue.splice(index, 1);
      },
      setImmediate: (run: () => void): void => {
        const context = new AsyncResource('Due');
        world.immediates.push({ id: 0, at: 0, delayMs: undefined, isOfWork: false, run, context });
      },
      AbortController: class extends real.AbortController {
        constructor() {
          super();
          world.controllersMade += 1;
        }
      },
    };
  }
}
