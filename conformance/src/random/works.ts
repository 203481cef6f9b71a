import type { FallbackModel } from './models/fallback.js';
import type { Layers } from './layers.js';
import { AttemptRecord, type AttemptContext, type Run } from './run.js';
import type { FallbackRecipe, Start, Work } from './scenario.js';
import type { HandlerGiven } from './build.js';
import { limitIn, show, STALL_MS, type Watch } from './watch.js';

const HANDLER_MS = 6;

/** Starts something inside of an attempt; its promise is for whoever waits for it. */
export type Starter = (start: Start, inside: AttemptRecord) => Promise<unknown>;

/** Does what work does in a scenario, and looks at what attempts are given. */
export class Works {
  /** Those whose signals are to be looked at. */
  private readonly attempts: AttemptRecord[] = [];
  private readonly hanging: (() => void)[] = [];
  private readonly waiting: (() => void)[] = [];
  private readonly signals = new Set<AbortSignal>();

  constructor(
    private readonly watch: Watch,
    private readonly layers: Layers,
    private readonly starter: Starter,
  ) {}

  /** The work of an attempt is called. */
  attempt(run: Run | undefined, context: AttemptContext): AttemptRecord | undefined {
    const { watch } = this;
    const isIts = run !== undefined && run === this.layers.arriving && !run.isOver;
    watch.require(isIts, 'nothing-for-nobody', 'work begins for nobody');
    if (run === undefined || !isIts) return undefined;

    this.layers.arriving = undefined;
    watch.require(!run.isOutOfTime(), 'nothing-for-nobody', 'work begins with no time left');
    return this.record(run, context);
  }

  perform(work: Work, attempt: AttemptRecord): unknown {
    this.watch.inCallback();
    if (work.asks === 'at once' || work.does === 'honour') this.askSignal(attempt);
    const { does, after } = work;
    if (does === 'answer') return this.ended(attempt, 'answer');
    if (does === 'throw') throw this.ended(attempt, errorOf(work));
    if (does === 'hang') return this.hang(attempt);
    if (does === 'honour') return this.honour(attempt);
    if (does === 'start') return this.start(work, attempt);

    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.onEnd(attempt, work);
        if (does === 'resolve') resolve('value');
        else reject(errorOf(work));
      };
      this.after(after, work.byTimer, end);
    });
  }

  /** The handler of a fallback is called. */
  readonly handler = (model: FallbackModel, recipe: FallbackRecipe, { error, context }: HandlerGiven): unknown => {
    const run = model.onHandler(error);

    return run === undefined ? 'nobody' : this.answer(recipe, this.record(run, context));
  };

  answer({ answers }: FallbackRecipe, attempt: AttemptRecord): unknown {
    this.watch.inCallback();
    if (answers === 'throws') throw this.ended(attempt, new Error('no fallback'));
    if (answers === 'value') return this.ended(attempt, 'fallback');

    return new Promise((resolve) => {
      this.after(answers === 'slowly' ? HANDLER_MS : 0, true, () => {
        this.endsNow(attempt);
        resolve('fallback');
      });
    });
  }

  /** After each turn: signals are what their attempts are. */
  check(): void {
    for (const { signal, state, reason } of this.attempts) {
      if (signal === undefined) continue;

      if (state === 'cut') {
        const isTold = signal.aborted && signal.reason === reason;
        this.watch.require(
          isTold,
          'cut-attempts-are-told',
          `the signal of an attempt cut by ${show(reason)} ${signal.aborted ? `has ${show(signal.reason)}` : 'has not aborted'}`,
        );
      } else {
        this.watch.require(
          !signal.aborted,
          'quiet-after-success',
          `the signal of an attempt that is ${state} has aborted`,
        );
      }
    }
  }

  /** How many controllers there may be: one for each signal that was asked for, or that tells calls inside of the end. */
  get mostControllers(): number {
    return (
      this.signals.size + this.attempts.filter(({ state, signal }) => state === 'cut' && signal === undefined).length
    );
  }

  get areHanging(): boolean {
    return this.hanging.length > 0;
  }

  /** Lets all work that hangs end; `also` that which waits for calls of its own, such as for a slot that it holds itself. */
  endAll(also: 'what waits' | undefined): void {
    for (const end of this.hanging.splice(0)) end();
    if (also === 'what waits') for (const end of this.waiting.splice(0)) end();
  }

  private record(run: Run, context: AttemptContext): AttemptRecord {
    const { watch } = this;
    const attempt = new AttemptRecord(run, context);
    const leftMs = context.deadline?.remaining();
    const expectedMs = run.deadline && Math.max(0, run.deadline.expiresAt - watch.now);
    const knows = context.attempt === run.attemptNumber && leftMs === expectedMs;
    watch.require(
      knows,
      'attempt-knows-its-place',
      `attempt ${context.attempt} with ${String(leftMs)} ms left, expected ${run.attemptNumber} with ${String(expectedMs)}`,
    );
    watch.require(run.attempt === undefined, 'nothing-for-nobody', 'two attempts of one call run at once');
    run.attempt = attempt;
    this.attempts.push(attempt);

    return attempt;
  }

  /** The signal of an attempt, for whoever needs it. */
  askSignal(attempt: AttemptRecord): AbortSignal {
    const { signal } = attempt.context;
    const isOwn = attempt.signal === undefined ? !this.signals.has(signal) : attempt.signal === signal;
    const isForeign = signal === attempt.run.owner.caller?.controller.signal;
    this.watch.require(isOwn && !isForeign, 'own-signal', 'an attempt is given the signal of somebody else');
    this.signals.add(signal);
    attempt.signal = signal;

    return signal;
  }

  /** Of a promise that is settled right after this the engine hears one microtask later, and so does its model. */
  private endsNow(attempt: AttemptRecord): void {
    queueMicrotask(() => this.ended(attempt, undefined));
  }

  private ended<T>(attempt: AttemptRecord, value: T): T {
    attempt.works = false;
    if (attempt.state === 'cut') this.watch.reach('late outcome dropped');

    return value;
  }

  private onEnd(attempt: AttemptRecord, work: Work): void {
    if (work.asks === 'late') this.askSignal(attempt);
    const { state, reason } = attempt;
    const late = state === 'cut' && limitIn(reason) !== undefined ? this.watch.lateness.get(Object(reason)) : undefined;
    const isUnfair = late !== undefined && late > STALL_MS && !work.byTimer && attempt.cutAt === this.watch.now;
    this.watch.require(!isUnfair, 'stall-is-nobodys-fault', `a limit ${late} ms late came before input that was there`);
    this.endsNow(attempt);
  }

  private hang(attempt: AttemptRecord): Promise<unknown> {
    return new Promise((_, reject) => {
      // Long after whoever asked has gone: nobody may hear of it.
      this.hanging.push(() => {
        this.endsNow(attempt);
        reject(new Error('far too late'));
      });
    });
  }

  private honour(attempt: AttemptRecord): Promise<unknown> {
    const signal = this.askSignal(attempt);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        // Whoever hears of it may make its caller leave as well, in the midst of the call being given up.
        this.watch.inCallback();
        this.endsNow(attempt);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.hanging.push(() => {
        signal.removeEventListener('abort', leave);
        if (!attempt.works) return;
        this.endsNow(attempt);
        resolve('value');
      });
    });
  }

  private start({ starts, waits, after, byTimer }: Work, attempt: AttemptRecord): Promise<unknown> {
    const begun = new Promise((resolve, reject) => {
      const begin = (): void => {
        const promise = this.starter(starts as Start, attempt);
        if (waits === true) promise.then(resolve, reject);
        else resolve('started');
      };
      this.waiting.push(() => reject(new Error('waits no longer')));
      if (after === 0) begin();
      else this.after(after, byTimer, begin);
    });

    return begun.then(
      (value) => {
        this.endsNow(attempt);
        return value;
      },
      (error: unknown) => {
        this.endsNow(attempt);
        throw error;
      },
    );
  }

  private after(ms: number, byTimer: boolean, then: () => void): void {
    if (ms === 0) queueMicrotask(then);
    else if (byTimer) this.watch.world.startTimerOfWork(ms, then);
    else this.watch.world.arrive(ms, then);
  }
}

function errorOf({ error }: Work): Error {
  if (error === 'not found') return Object.assign(new Error(error), { status: 404 });
  if (error === 'retry after') return Object.assign(new Error(error), { retryAfterMs: 15 });

  return new Error(error);
}
