import type { Engine } from './engine.js';
import type { Started } from './calls.js';
import type { AnswerStep, SectionRecipe } from './scenario.js';
import { limitIn, shapeOf, show, STALL_MS, type Watch } from './watch.js';

const REASONS = [
  'upstream_timeout',
  'budget_exhausted',
  'client_abort',
  'upstream_error',
  'circuit_open',
  'bulkhead_full',
  'rate_limited',
  'skipped',
];
/** How much longer a held event loop may make a section. */
const LATE_MS = 100;

type Section = ReturnType<Engine['required']>;
type Policy = InstanceType<Engine['ResiliencePolicy']>;
type Perform = (recipe: SectionRecipe, context: object) => unknown;
type Page = Awaited<ReturnType<Engine['fanOut']>>;

/** What is told of a section that is missing. */
interface Told {
  readonly type: string;
  readonly source?: string | undefined;
  readonly section?: string;
  readonly reason?: string;
  readonly waitedMs?: number;
  readonly error?: unknown;
}

/** What an answer is begun with. */
export interface AnswerParts {
  readonly step: AnswerStep;
  readonly started: Started;
  readonly options: object;
  readonly policyOf: (recipe: SectionRecipe) => Policy | undefined;
  readonly perform: Perform;
  /** Remembers what stands in an object that the engine is given. */
  readonly keep: <T extends object>(given: T) => T;
}

/** One answer of sections, and what is known of them. */
export class AnswerTrial {
  /** When each section first ran. */
  private readonly ran = new Map<number, number>();
  private readonly told: Told[] = [];
  private readonly begunAt: number;
  private readonly endsAt: number;
  private isChecked = false;

  constructor(
    private readonly engine: Engine,
    private readonly watch: Watch,
    private readonly parts: AnswerParts,
  ) {
    this.begunAt = watch.now;
    this.endsAt = watch.now + (parts.step.budget ?? Infinity);
  }

  begin(): Promise<unknown> {
    return this.parts.step.kind === 'fan out' ? this.fanOut() : this.collect();
  }

  onEvent(told: Told): void {
    const { type, source, section, error, reason, waitedMs = 0 } = told;
    if (type !== 'degraded' || source !== this.parts.started.owner.id) return;

    this.told.push(told);
    const ranAt = this.ran.get(placeOf(section));
    const expected = reasonOf(error, ranAt !== undefined);
    this.require(reason === expected, `says ${reason} of ${section} for ${show(error)}, expected ${expected}`);
    const leastMs = this.watch.now - (ranAt ?? this.watch.now) - (expected === 'upstream_timeout' ? STALL_MS : 0);
    const isTrue = leastMs <= waitedMs && waitedMs <= this.watch.now - this.begunAt;
    this.require(isTrue, `says that ${section} took ${waitedMs} ms`);
    this.checkDeadline(error);
  }

  /** What tells of the budget comes when that is over. Around an answer there may be an earlier limit. */
  private checkDeadline(error: unknown): void {
    const { code, policy } = limitIn(error) ?? {};
    if (code !== 'DEADLINE_EXCEEDED' || policy !== 'fan-out' || this.parts.started.owner.outer !== undefined) return;

    const leftMs = this.endsAt - this.watch.now;
    this.watch.require(
      leftMs < 1,
      'reasons-apart',
      `a section says that the budget is over, of which ${leftMs} ms are left`,
    );
  }

  check(isOver: boolean): void {
    const { settled, reasons } = this.parts.started;
    if (this.isChecked || !isOver) return;
    if (settled === undefined) return this.checkPending();

    this.isChecked = true;
    if (settled.ok) this.checkPage(settled.value as Page);
    else this.checkError(settled.value, reasons);
  }

  private checkPending(): void {
    const lateMs = this.watch.now - this.endsAt;
    this.watch.require(lateMs < 0, 'answers-in-time', `an answer hangs ${lateMs} ms after its end`);
    const { kind, settles, sections } = this.parts.step;
    const failed = this.told.some(({ section }) => sections[placeOf(section)]?.required === true);
    const waits = failed && (kind === 'collect' || !settles);
    this.watch.require(!waits, 'answers-in-time', 'an answer hangs although a required section has failed');
  }

  private fanOut(): Promise<unknown> {
    const { step, options, keep } = this.parts;
    const sections: Record<string, Section> = {};
    step.sections.forEach((recipe, at) => {
      const after = Object.fromEntries(
        recipe.after.map((before) => [`in${before}`, sections[`s${before}`] as Section]),
      );
      sections[`s${at}`] = this.declare(recipe, at, { after });
    });

    const how = keep({
      ...options,
      concurrency: step.concurrency,
      onRequiredFailure: step.settles ? ('settle' as const) : ('cancel' as const),
      minimum: 0,
    });
    return this.engine.fanOut(keep(sections), how);
  }

  private async collect(): Promise<unknown> {
    const { step, options, policyOf, keep } = this.parts;
    const collector = this.engine.collect(keep(options));
    const data: Record<string, unknown> = {};
    for (const [at, recipe] of step.sections.entries()) {
      const { timeout, required } = recipe;
      const name = `s${at}`;
      const given = keep({ timeout, policy: policyOf(recipe) });
      data[name] = required
        ? await collector.required(name, this.run(recipe, at), given)
        : await collector.optional<unknown, unknown>(
            name,
            this.run(recipe, at),
            keep({ ...given, fallback: fallbackOf(recipe, at) }),
          );
    }

    return { data, degraded: collector.degraded, partial: collector.partial };
  }

  private declare(
    recipe: SectionRecipe,
    at: number,
    given: { readonly after: Readonly<Record<string, Section>> },
  ): Section {
    const { required, optional } = this.engine;
    const { policyOf, keep } = this.parts;
    const options = { ...given, timeout: recipe.timeout, policy: policyOf(recipe) };
    if (recipe.required) return required(this.run(recipe, at), keep(options));

    const withFallback = keep({ ...options, fallback: fallbackOf(recipe, at) });
    return optional<unknown, unknown>(this.run(recipe, at), withFallback) as Section;
  }

  private run(recipe: SectionRecipe, at: number): (context: object) => unknown {
    return (context) => {
      if (!this.ran.has(at)) this.ran.set(at, this.watch.now);
      const { kind, concurrency = Infinity } = this.parts.step;
      const running = this.parts.started.runs.filter((run) => !run.isOver).length;
      const isTurn = kind === 'collect' ? running <= 1 : running <= concurrency;
      this.require(isTurn, `runs ${running} sections at once`);
      const needs = kind === 'fan out' ? recipe.after : [];
      const hasAll = needs.every((before) => `in${before}` in context);
      this.watch.require(hasAll, 'answers-tell-what-is-missing', 'a section runs without what it needs');

      return this.parts.perform(recipe, context);
    };
  }

  private checkPage({ data, degraded, partial, timings }: Page): void {
    const { sections } = this.parts.step;
    const values = data as Readonly<Record<string, unknown>>;
    const isMissing = (at: number): boolean => values[`s${at}`] === `fallback ${at}`;
    const missing = sections.flatMap((_, at) => (isMissing(at) ? [`s${at}`] : []));
    const listed = degraded.map(({ section }) => section);
    this.require(listed.join() === missing.join(), `lists ${listed.join()} instead of ${missing.join()}`);
    const toldOf = this.told.map(({ section }) => section as string).toSorted();
    this.require(toldOf.join() === missing.toSorted().join(), `tells of ${toldOf.join()} instead of ${missing.join()}`);
    this.require(partial === missing.length > 0, 'is marked wrongly');
    this.require(Object.keys(values).length === sections.length, 'lacks sections');
    for (const one of degraded) this.checkDegraded(one);
    this.checkTimings(timings);
  }

  /** What comes when its limit is over is no answer, also when the event loop was held. */
  private checkTimings(timings: Page['timings'] = []): void {
    const { sections, budget = Infinity } = this.parts.step;
    for (const { section, ms, reason } of timings) {
      const limitMs = Math.min(sections[placeOf(section)]?.timeout ?? Infinity, budget);
      const isInTime = reason !== undefined || ms < limitMs;
      this.watch.require(isInTime, 'answers-in-time', `${section} is good after ${ms} of ${limitMs} ms`);
    }
  }

  private checkDegraded({ section, reason, waitedMs }: Page['degraded'][number]): void {
    const { sections, budget = Infinity } = this.parts.step;
    this.watch.reach(reason === 'skipped' ? 'section skipped' : 'section degraded');
    const { timeout = Infinity, required } = sections[placeOf(section)] as SectionRecipe;
    this.require(REASONS.includes(reason) && !required, `says ${reason} of ${section}`);
    const told = this.told.find((one) => one.section === section);
    const isTold = told?.reason === reason && told.waitedMs === waitedMs;
    this.require(isTold, `tells another story of ${section} than it lists`);
    const isInTime = waitedMs <= Math.min(timeout, budget) + LATE_MS;
    this.require(isInTime, `says that ${section} took ${waitedMs} ms`);
  }

  private checkError(error: unknown, reasons: readonly unknown[]): void {
    if (reasons.includes(error)) return;

    const { code } = shapeOf(error);
    const isOurs = code === 'SECTION_FAILED';
    if (isOurs) this.watch.reach('section required and failed');
    this.watch.require(isOurs, 'reasons-apart', `an answer fails with ${show(error)}`);
    const toldOf = this.told.map(({ section }) => section);
    this.require(new Set(toldOf).size === toldOf.length, `tells of ${toldOf.join()}`);
    const { step, started } = this.parts;
    const isCancelled = started.runs.some(({ outcome }) => shapeOf(outcome?.value).code === 'SIBLING_FAILED');
    this.require(!step.settles || step.kind === 'collect' || !isCancelled, 'cancels sections that it has to wait for');
  }

  private require(holds: boolean, what: string): void {
    this.watch.require(holds, 'answers-tell-what-is-missing', `${this.parts.started.owner.id} ${what}`);
  }
}

/** The sections of a scenario are called by their places. */
function placeOf(section: string | undefined): number {
  return Number(section?.slice(1));
}

const REFUSED: Readonly<Record<string, string>> = {
  CIRCUIT_OPEN: 'circuit_open',
  BULKHEAD_FULL: 'bulkhead_full',
  RATE_LIMITED: 'rate_limited',
};

/** Why a section is missing that ended with an error; without one it was skipped. */
function reasonOf(error: unknown, ran: boolean): string {
  if (error === undefined) return 'skipped';
  if (limitIn(error) !== undefined) return ran ? 'upstream_timeout' : 'budget_exhausted';

  const { code, reason } = shapeOf(error);
  // An answer inside of it has a reason of its own, which it tells.
  if (code === 'SECTION_FAILED') return String(reason);

  return REFUSED[String(code)] ?? 'upstream_error';
}

function fallbackOf({ fallback }: SectionRecipe, at: number): unknown {
  if (fallback === 'value') return `fallback ${at}`;
  if (fallback === 'function') return () => `fallback ${at}`;

  return () => {
    throw new Error('no fallback');
  };
}
