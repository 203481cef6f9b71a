import { watchListeners } from '../observed.js';
import { AnswerTrial } from './answers.js';
import { Builder } from './build.js';
import { Callers, Started } from './calls.js';
import { Draws } from './draws.js';
import type { Engine, Execution } from './engine.js';
import { mostWorksIn } from './extent.js';
import type { Violation } from './invariants.js';
import { Layers, type LayeredPolicy } from './layers.js';
import type { Told } from './models/stage-model.js';
import { PlainCalls } from './plain-calls.js';
import { Policies } from './policies.js';
import { Run, type AttemptContext, type AttemptRecord, type RunOwner } from './run.js';
import type { AnswerStep, CallStep, PlainCallStep, Scenario, SectionRecipe, Start, Step, Work } from './scenario.js';
import type { State } from './coverage.js';
import { show, Watch } from './watch.js';
import type { World } from './world.js';
import { Works } from './works.js';

export interface Played {
  readonly violations: readonly Violation[];
  readonly reached: ReadonlySet<State>;
}

/** What an execution is played with. */
export interface Stage {
  readonly engine: Engine;
  readonly world: World;
  /** What was let out into the process. */
  readonly strays: readonly string[];
}

/** Plays a scenario from its first step until all is over, and holds it against the models after each turn. */
export function play(stage: Stage, scenario: Scenario): Promise<Played> {
  return new Play(stage, scenario).run();
}

/** Further moments that an execution gets to come to its end, and those for each work that it may perform until then. */
const MOST_MOMENTS = 1_000;
const MOMENTS_OF_A_WORK = 20;
/** After so many, work waits no longer for what it has started. */
const PATIENT_MOMENTS = 10;
const A_MOMENT_MS = 20;

class Play {
  private readonly watch: Watch;
  private readonly layers: Layers;
  private readonly builder: Builder;
  private readonly works: Works;
  private readonly callers: Callers;
  private readonly policies: Policies;
  private readonly plainCalls: PlainCalls;
  private readonly started: Started[] = [];
  private readonly controllersBefore: number;
  private readonly answers: AnswerTrial[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly scenario: Scenario,
  ) {
    const { world, engine } = stage;
    world.begin(new Draws(scenario.ties));
    this.controllersBefore = world.controllersMade;
    this.watch = new Watch(world);
    this.callers = new Callers(() => world.newController(), watchListeners);
    this.layers = new Layers(this.watch, (execution) => this.newRun(execution));
    this.works = new Works(this.watch, this.layers, (start, inside) => this.start(start, inside));
    this.builder = new Builder(engine, this.watch, this.works.handler);
    this.policies = new Policies({ engine, watch: this.watch, layers: this.layers, builder: this.builder }, scenario);
    this.plainCalls = new PlainCalls({ engine, watch: this.watch, builder: this.builder, works: this.works }, scenario);
    world.onTurn = (isOver) => this.check(isOver);
  }

  async run(): Promise<Played> {
    const { world } = this.stage;
    const unsubscribe = this.stage.engine.subscribe((event) => this.onEvent(event));
    try {
      for (const step of this.scenario.steps) {
        await this.step(step);
        await world.walk();
      }
      await this.runDown();
      this.checkEnd();
    } catch (error) {
      // What runs in a timer or a listener would end the process.
      this.watch.require(false, 'nothing-unhandled', `thrown out of a callback: ${show(error)}`);
    } finally {
      unsubscribe();
      world.onTurn = () => {};
    }

    return { violations: this.watch.violations, reached: this.watch.reached };
  }

  private async step(step: Step): Promise<void> {
    const { world } = this.stage;
    switch (step.kind) {
      case 'pass':
        return world.pass(step.ms);
      case 'stall':
        return world.stall(step.ms);
      case 'step the wall clock':
        return this.stepWallClock(step.ms);
      case 'abort':
        return this.abort(step.caller, step.inCallback);
      case 'trip':
      case 'reset':
        return this.policies.control(step.kind, step.policy);
      case 'plain call':
        return this.plainCall(step);
      default:
        void this.start(step, undefined).catch(() => {});
    }
  }

  private start(start: Start, inside: AttemptRecord | undefined): Promise<unknown> {
    if (inside !== undefined) this.watch.reach('nested');

    return start.kind === 'call' ? this.call(start, inside) : this.answer(start, inside);
  }

  private call(step: CallStep, inside: AttemptRecord | undefined): Promise<unknown> {
    const stack = this.policies.stack(step.stack);
    const owner = this.ownerOf(step, inside, stack.limits || step.budget !== undefined);
    const started = this.keep(owner, 'call');
    let begun = 0;
    const work = (context: AttemptContext): unknown => {
      const attempt = this.works.attempt(this.layers.arriving, context);
      if (attempt === undefined) return 'nobody';

      const next = step.works[Math.min(begun++, step.works.length - 1)] as Work;
      return this.works.perform(next, attempt);
    };
    const options = this.builder.options({ ...this.optionsOf(step, owner), ...(!step.ambient && { ambient: false }) });

    return started.follow(stack.policy.execute(work, options));
  }

  private plainCall(step: PlainCallStep): void {
    const caller = step.signal === undefined ? undefined : this.callers.get(step.signal);
    this.started.push(this.plainCalls.call(step, `plain call ${this.started.length}`, caller));
  }

  private answer(step: AnswerStep, inside: AttemptRecord | undefined): Promise<unknown> {
    const owner = { ...this.ownerOf(step, inside, true), budgetMs: undefined, sharesId: true };
    const started = this.keep(owner, 'answer');
    const perform = ({ work }: SectionRecipe, context: object): unknown => {
      const attempt = this.works.attempt(this.layers.arriving, context as AttemptContext);
      return attempt === undefined ? 'nobody' : this.works.perform(work, attempt);
    };
    const policyOf = ({ stack }: SectionRecipe): LayeredPolicy =>
      stack === undefined ? this.policies.noneAtAll() : this.policies.stack(stack).policy;
    const options = this.optionsOf(step, owner);
    const keep = <T extends object>(given: T): T => this.builder.options(given);
    const trial = new AnswerTrial(this.stage.engine, this.watch, { step, started, options, policyOf, perform, keep });
    this.answers.push(trial);

    return started.follow(trial.begin());
  }

  private keep(owner: RunOwner, kind: 'call' | 'answer'): Started {
    const started = new Started(this.watch, owner, kind);
    this.started.push(started);

    return started;
  }

  private ownerOf(step: Start, inside: AttemptRecord | undefined, limits: boolean): RunOwner {
    const around = inside?.inherited;
    const { signal, budget, detached } = step;

    return {
      id: `${step.kind} ${this.started.length}`,
      caller: typeof signal === 'number' ? this.callers.get(signal) : undefined,
      outer: detached ? undefined : around,
      follows: signal === 'own' ? inside : undefined,
      around,
      ambient: step.kind !== 'call' || step.ambient,
      isOpened: limits || signal !== undefined || around !== undefined,
      budgetMs: budget,
      sharesId: false,
    };
  }

  private optionsOf({ budget, detached }: Start, owner: RunOwner): object {
    const signal = owner.caller?.controller.signal ?? (owner.follows && this.works.askSignal(owner.follows));

    return {
      source: owner.id,
      ...(signal !== undefined && { signal }),
      ...(budget !== undefined && { budget }),
      ...(detached && { detached }),
    };
  }

  private newRun({ source, deadline }: Execution): Run | undefined {
    const started = this.started.find(({ owner }) => owner.id === source);
    if (started === undefined) return undefined;

    const { owner, kind } = started;
    // A section's own limit is set before its policy is asked.
    const ofSection = deadline && {
      expiresAt: this.watch.now + deadline.remaining(),
      budgetMs: deadline.budgetMs,
      leastMs: deadline.minRemainingMs,
    };
    const run = new Run(this.watch, owner, kind === 'call' ? owner.outer?.run.deadline : ofSection);
    started.runs.push(run);

    return run;
  }

  private onEvent(event: Told & { readonly policy: string }): void {
    this.policies.onEvent(event);
    for (const answer of this.answers) answer.onEvent(event);
    // Somebody may leave, and policies deal with that in between.
    this.policies.keepingCurrent(() => this.watch.inCallback());
  }

  private stepWallClock(ms: number): void {
    const before = this.policies.snapshot();
    this.stage.world.stepWallClock(ms);
    this.watch.require(
      this.policies.snapshot() === before,
      'wall-clock-moves-nothing',
      `a step of ${ms} ms made ${this.policies.snapshot()} of ${before}`,
    );
    this.watch.reach('clock stepped');
  }

  private abort(caller: number, inCallback: number): void {
    this.watch.callback = () => {};
    if (inCallback === 0) return this.leave(caller);

    let left = inCallback;
    this.watch.callback = () => {
      left -= 1;
      if (left !== 0) return;

      this.watch.reach('aborted in a callback');
      this.callers.leave(caller);
    };
  }

  private leave(number: number): void {
    const pending = this.started.filter(({ settled, kind }) => settled === undefined && kind === 'plain call');
    const caller = this.callers.leave(number);
    if (caller === undefined) return;

    for (const started of pending) if (started.owner.caller === caller) started.leftFor = caller.reason;

    const hanging = this.started.flatMap(({ owner, runs }) =>
      owner.caller === caller ? runs.filter(({ isOver }) => !isOver) : [],
    );
    this.watch.require(
      hanging.length === 0,
      'leaves-at-once',
      `${hanging.length} calls hang after their caller has left`,
    );
  }

  private check(isOver: boolean): void {
    this.policies.check(isOver);
    for (const started of this.started) started.check(isOver);
    for (const answer of this.answers) answer.check(isOver);
    this.works.check();
    if (!isOver) return;

    this.checkListeners();
    this.checkCost();
  }

  private checkListeners(): void {
    for (const caller of this.callers.all) {
      const pending = this.started.filter(({ owner, settled }) => owner.caller === caller && settled === undefined);
      const listeners = caller.listeners();
      const isRight = pending.some(({ kind }) => kind !== 'answer')
        ? listeners === 1
        : listeners <= Math.min(1, pending.length);
      this.watch.require(isRight, 'one-listener', `${listeners} listeners for ${pending.length} calls`);
    }
  }

  /** Timers stand for calls that are pending, controllers for signals that somebody needs. */
  private checkCost(): void {
    const { timers, controllersMade } = this.stage.world;
    const isIdle = this.started.every(({ settled }) => settled !== undefined);
    this.watch.require(
      !isIdle || timers === 0,
      'nothing-left',
      `${timers} timers are left although no call is pending`,
    );
    const made = controllersMade - this.controllersBefore;
    const { mostControllers } = this.works;
    this.watch.require(
      made <= mostControllers,
      'controllers-on-demand',
      `${made} controllers were made for ${mostControllers} signals`,
    );
  }

  /** All work ends, and all time passes that anything waits for. */
  private async runDown(): Promise<void> {
    const { world } = this.stage;
    this.watch.callback = () => {};
    // Retries around retries, whose calls wait for each other, take their time.
    const most = MOST_MOMENTS + MOMENTS_OF_A_WORK * mostWorksIn(this.scenario);
    for (let moment = 0; moment < most && this.isBusy(); moment++) {
      this.works.endAll(moment > PATIENT_MOMENTS ? 'what waits' : undefined);
      await world.pass(A_MOMENT_MS);
    }
  }

  private isBusy(): boolean {
    return (
      this.stage.world.isBusy || this.works.areHanging || this.started.some(({ settled }) => settled === undefined)
    );
  }

  private checkEnd(): void {
    const { world } = this.stage;
    const left = this.started.filter(({ settled }) => settled === undefined);
    this.watch.require(left.length === 0, 'nothing-left', `${left.length} calls never settle`);
    this.watch.require(world.timers === 0, 'nothing-left', `${world.timers} timers are left`);
    const { subscribers } = this.policies;
    const held = this.policies.held + this.plainCalls.held;
    this.watch.require(held === 0, 'nothing-left', `${held} slots or places in a queue are left`);
    this.watch.require(this.stage.strays.length === 0, 'nothing-unhandled', this.stage.strays.join('; '));
    for (const { object, before } of this.builder.given) {
      const changed = changedIn(object, before);
      this.watch.require(changed.length === 0, 'options-untouched', `${changed.join()} changed in what was given`);
    }
    const reports = world.reports.filter(([message]) => String(message).startsWith('A subscriber'));
    const isOnce = reports.length <= subscribers;
    this.watch.require(isOnce, 'listeners-change-nothing', `${reports.length} reports of ${subscribers} listeners`);
  }
}

/** The keys whose values are other ones, or that only one of both has. */
function changedIn(object: object, before: object): readonly string[] {
  const [now, then] = [new Map(Object.entries(object)), new Map(Object.entries(before))];

  return [...new Set([...now.keys(), ...then.keys()])].filter(
    (key) => now.has(key) !== then.has(key) || !Object.is(now.get(key), then.get(key)),
  );
}
