import type { Engine } from './engine.js';
import type { Started } from './calls.js';
import type { AnswerStep, SectionRecipe } from './scenario.js';
import { shapeOf, show, type Watch } from './watch.js';

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
type Told = { readonly type: string; readonly source?: string | undefined; readonly section?: string };

/** What an answer is begun with. */
export interface AnswerParts {
  readonly step: AnswerStep;
  readonly started: Started;
  readonly options: object;
  readonly policyOf: (recipe: SectionRecipe) => Policy | undefined;
  readonly perform: Perform;
}

/** One answer of sections, and what is known of them. */
export class AnswerTrial {
  private readonly ran = new Set<number>();
  private readonly told: string[] = [];
  private readonly endsAt: number;
  private isChecked = false;

  constructor(
    private readonly engine: Engine,
    private readonly watch: Watch,
    private readonly parts: AnswerParts,
  ) {
    this.endsAt = watch.now + (parts.step.budget ?? Infinity);
  }

  begin(): Promise<unknown> {
    return this.parts.step.kind === 'fan out' ? this.fanOut() : this.collect();
  }

  onEvent({ type, source, section }: Told): void {
    if (type === 'degraded' && source === this.parts.started.owner.id) this.told.push(section as string);
  }

  check(isOver: boolean): void {
    const { settled, reasons } = this.parts.started;
    if (this.isChecked || !isOver) return;
    if (settled === undefined) {
      this.watch.require(
        this.endsAt > this.watch.now,
        'answers-in-time',
        `an answer hangs ${this.watch.now - this.endsAt} ms after its end`,
      );
      return;
    }

    this.isChecked = true;
    if (settled.ok) this.checkPage(settled.value as Page);
    else this.checkError(settled.value, reasons);
  }

  private fanOut(): Promise<unknown> {
    const { step, options } = this.parts;
    const sections: Record<string, Section> = {};
    step.sections.forEach((recipe, at) => {
      const after = Object.fromEntries(
        recipe.after.map((before) => [`in${before}`, sections[`s${before}`] as Section]),
      );
      sections[`s${at}`] = this.declare(recipe, at, { after });
    });

    return this.engine.fanOut(sections, {
      ...options,
      concurrency: step.concurrency,
      onRequiredFailure: step.settles ? 'settle' : 'cancel',
      minimum: 0,
    });
  }

  private async collect(): Promise<unknown> {
    const { step, options, policyOf } = this.parts;
    const collector = this.engine.collect(options);
    const data: Record<string, unknown> = {};
    for (const [at, recipe] of step.sections.entries()) {
      const { timeout, required } = recipe;
      const name = `s${at}`;
      const given = { timeout, policy: policyOf(recipe) };
      data[name] = required
        ? await collector.required(name, this.run(recipe, at), given)
        : await collector.optional<unknown, unknown>(name, this.run(recipe, at), {
            ...given,
            fallback: fallbackOf(recipe, at),
          });
    }

    return { data, degraded: collector.degraded, partial: collector.partial };
  }

  private declare(
    recipe: SectionRecipe,
    at: number,
    given: { readonly after: Readonly<Record<string, Section>> },
  ): Section {
    const { required, optional } = this.engine;
    const options = { ...given, timeout: recipe.timeout, policy: this.parts.policyOf(recipe) };
    if (recipe.required) return required(this.run(recipe, at), options);

    return optional<unknown, unknown>(this.run(recipe, at), {
      ...options,
      fallback: fallbackOf(recipe, at),
    }) as Section;
  }

  private run(recipe: SectionRecipe, at: number): (context: object) => unknown {
    return (context) => {
      this.ran.add(at);
      const needs = this.parts.step.kind === 'fan out' ? recipe.after : [];
      const hasAll = needs.every((before) => `in${before}` in context);
      this.watch.require(hasAll, 'answers-tell-what-is-missing', 'a section runs without what it needs');

      return this.parts.perform(recipe, context);
    };
  }

  private checkPage({ data, degraded, partial }: Page): void {
    const { sections } = this.parts.step;
    const values = data as Readonly<Record<string, unknown>>;
    const isMissing = (at: number): boolean => values[`s${at}`] === `fallback ${at}`;
    const missing = sections.flatMap((_, at) => (isMissing(at) ? [`s${at}`] : []));
    const listed = degraded.map(({ section }) => section);
    const require = (holds: boolean, what: string): void =>
      this.watch.require(holds, 'answers-tell-what-is-missing', `${this.parts.started.owner.id} ${what}`);
    require(listed.join() === missing.join(), `lists ${listed.join()} instead of ${missing.join()}`);
    require(this.told.toSorted().join() ===
      missing.toSorted().join(), `tells of ${this.told.join()} instead of ${missing.join()}`);
    require(partial === missing.length > 0, 'is marked wrongly');
    require(Object.keys(values).length === sections.length, 'lacks sections');
    for (const { section, reason, waitedMs } of degraded) {
      this.watch.reach(reason === 'skipped' ? 'section skipped' : 'section degraded');
      const at = Number(section.slice(1));
      const { timeout = Infinity, required, work } = sections[at] as SectionRecipe;
      require(REASONS.includes(reason) && !required, `says ${reason} of ${section}`);
      // An answer inside of it has a reason of its own, which it may tell.
      require(!this.ran.has(at) ||
        work.does === 'start' ||
        reason !== 'skipped', `says that ${section} was skipped, which ran`);
      require(waitedMs <=
        Math.min(timeout, this.parts.step.budget ?? Infinity) + LATE_MS, `says that ${section} took ${waitedMs} ms`);
    }
  }

  private checkError(error: unknown, reasons: readonly unknown[]): void {
    if (reasons.includes(error)) return;

    const { code } = shapeOf(error);
    const isOurs = code === 'SECTION_FAILED';
    if (isOurs) this.watch.reach('section required and failed');
    this.watch.require(isOurs, 'reasons-apart', `an answer fails with ${show(error)}`);
    const isOnce = new Set(this.told).size === this.told.length;
    this.watch.require(isOnce, 'answers-tell-what-is-missing', `tells of ${this.told.join()}`);
  }
}

function fallbackOf({ fallback }: SectionRecipe, at: number): unknown {
  if (fallback === 'value') return `fallback ${at}`;
  if (fallback === 'function') return () => `fallback ${at}`;

  return () => {
    throw new Error('no fallback');
  };
}
