import type { Deadline } from '../deadline.js';
import { OptionError, rejectUnknown, requireObject, withPath } from '../options.js';
import { Answer, ANSWER_OPTIONS, type AnswerOptions } from './answer.js';
import type { DegradedSection } from './degraded.js';
import { Part, type Assembly } from './part.js';
import {
  declaredSection,
  optional,
  required,
  type DeclaredValue,
  type OptionalOptions,
  type RequiredOptions,
  type Section,
  type SectionDeclaration,
  type SectionFunction,
} from './section.js';
import { requireSectionName } from './section-name.js';

/** What holds for each step: it has no key, so it is given its name, and comes after those before it anyhow. */
type StepOptions<O> = Omit<O, 'name' | 'after'>;

/**
 * Builds an answer step by step, under one budget. As `fanOut()` for sections that follow each other.
 *
 * @throws TypeError naming the option.
 */
export function collect(options: CollectOptions = {}): SectionCollector {
  requireObject(options, 'options', "Use { budget: '1.5s' }.");
  rejectUnknown(options, ANSWER_OPTIONS);

  return new Collector(new Answer(options));
}

export type CollectOptions = AnswerOptions;

/** An answer that is being built, step by step. */
export interface SectionCollector {
  /** By when the steps are settled; `undefined` when nothing but their own limits bounds them. */
  readonly deadline: Deadline | undefined;
  /**
   * The steps that are missing so far, in the order in which they were begun; with `client_abort` those that ran when
   * the caller left.
   */
  readonly degraded: readonly DegradedSection[];
  /** Whether something is missing so far. */
  readonly partial: boolean;
  /** Milliseconds left for all further steps; `Infinity` when nothing bounds them. */
  remaining(): number;
  /**
   * A step without which there is no answer. Rejects with a `SectionFailedError` when it fails, and with the caller's
   * reason as soon as that aborts.
   */
  required<V>(name: string, run: SectionFunction<V>, options?: StepOptions<RequiredOptions>): Promise<V>;
  /** A step that the answer can do without: resolves to its fallback when it fails. */
  optional<V, F extends V | null>(
    name: string,
    run: SectionFunction<V>,
    options: StepOptions<OptionalOptions<F>>,
  ): Promise<null extends F ? V | null : V>;
  /** A step that was declared as data: fails open or closed as it says there. */
  step<V, const D extends SectionDeclaration>(declaration: D, run: SectionFunction<V>): Promise<DeclaredValue<D, V>>;
}

class Collector implements SectionCollector, Assembly {
  readonly answer: Answer;
  private readonly parts: Part[] = [];
  private readonly outlets = new Map<Part, Outlet>();

  constructor(answer: Answer) {
    this.answer = answer;
  }

  get deadline(): Deadline | undefined {
    return this.answer.deadline;
  }

  get degraded(): readonly DegradedSection[] {
    return this.parts.flatMap(({ degraded }) => degraded ?? []);
  }

  get partial(): boolean {
    return this.parts.some(({ degraded }) => degraded !== undefined);
  }

  remaining(): number {
    return this.answer.deadline?.remaining() ?? Infinity;
  }

  required<V>(name: string, run: SectionFunction<V>, options: StepOptions<RequiredOptions> = {}): Promise<V> {
    return this.run(name, () => unnamed(required(run, options))) as Promise<V>;
  }

  optional<V, F extends V | null>(
    name: string,
    run: SectionFunction<V>,
    options: StepOptions<OptionalOptions<F>>,
  ): Promise<null extends F ? V | null : V> {
    return this.run(name, () => unnamed(optional(run, options))) as Promise<null extends F ? V | null : V>;
  }

  step<V, const D extends SectionDeclaration>(declaration: D, run: SectionFunction<V>): Promise<DeclaredValue<D, V>> {
    return this.run(declaration?.name, () => declaredSection(declaration, run)) as Promise<DeclaredValue<D, V>>;
  }

  onPart(part: Part): void {
    const { resolve, reject } = this.outletOf(part);
    if (part.state === 'failed') reject(part.failure);
    else resolve(part.value);
  }

  onLeft(part: Part, reason: unknown): void {
    this.outletOf(part).reject(reason);
  }

  private run(name: unknown, declare: () => Section<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const part = withPath(typeof name === 'string' ? name : '', () => this.partOf(name, declare()));
      const { left } = this.answer;
      if (left !== undefined) return reject(left.reason);

      this.parts.push(part);
      this.outlets.set(part, { resolve, reject });
      part.start();
    });
  }

  private partOf(name: unknown, { settings }: Section<unknown>): Part {
    if (settings.after !== undefined) {
      throw new OptionError('after', 'steps come one after the other anyhow. Use what the earlier ones gave.');
    }
    const part = new Part(requireSectionName(name, 'name'), settings, this);
    this.answer.requireBounded(settings);

    return part;
  }

  private outletOf(part: Part): Outlet {
    const outlet = this.outlets.get(part) as Outlet;
    this.outlets.delete(part);

    return outlet;
  }
}

/** @throws TypeError when a step would have two names. */
function unnamed<T>(section: Section<T, unknown>): Section<T, unknown> {
  if (section.settings.name === undefined) return section;

  throw new OptionError('name', 'a step is called by the first argument. Leave the option out.');
}

interface Outlet {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}
