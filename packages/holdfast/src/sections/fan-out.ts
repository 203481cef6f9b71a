import { SectionFailedError, SiblingFailedError } from '../errors.js';
import { OptionError, rejectUnknown, requireCount, requireObject, requireOneOf, show, withPath } from '../options.js';
import { Answer, ANSWER_OPTIONS, type AnswerOptions } from './answer.js';
import type { DegradedSection } from './degraded.js';
import { Part, type Assembly } from './part.js';
import { PartialResponse, type SectionTiming } from './partial-response.js';
import { isSection, type Section } from './section.js';
import { SectionGraph } from './section-graph.js';
import { ALL_SECTIONS, requireSectionName } from './section-name.js';

export interface FanOutOptions extends AnswerOptions {
  /** How many sections run at the same time: whole, at least 1, or `Infinity`. Default `Infinity`. */
  readonly concurrency?: number | undefined;
  /** How many sections have to be good. Whole, at most their number. Default 1 when none is required, else 0. */
  readonly minimum?: number | undefined;
  /** Whether a failed required section ends the answer at once, or after all have settled. Default `'cancel'`. */
  readonly onRequiredFailure?: 'cancel' | 'settle' | undefined;
}

/** Sections by their keys. */
export type Sections = Readonly<Record<string, Section<unknown, unknown>>>;

/** What the sections are in the answer. */
export type SectionData<S extends Sections> = {
  readonly [K in keyof S]: S[K] extends Section<infer T, infer _V> ? T : never;
};

const KNOWN = [...ANSWER_OPTIONS, 'concurrency', 'minimum', 'onRequiredFailure'] as const;

/**
 * Builds an answer from several sections, side by side. Each is settled by its own limit or the budget; an optional one
 * that fails is replaced by its fallback and listed in `degraded`.
 *
 * Rejects with a `SectionFailedError` when a required section fails or too few are good, with the caller's reason as
 * soon as the signal or the attempt around aborts, and with a `TypeError` naming the option when something is declared
 * wrongly.
 */
export function fanOut<const S extends Sections>(
  sections: S,
  options: FanOutOptions = {},
): Promise<PartialResponse<SectionData<S>>> {
  return new Promise((resolve, reject) => {
    new FanOut(sections, options, { resolve: resolve as (page: PartialResponse<unknown>) => void, reject }).start();
  });
}

interface Outlet {
  readonly resolve: (page: PartialResponse<unknown>) => void;
  readonly reject: (reason: unknown) => void;
}

class FanOut implements Assembly {
  readonly answer: Answer;
  /** The sections until their values take their places: an object of many keys is filled far faster than made. */
  private readonly data: Record<string, unknown>;
  private readonly keys: readonly string[];
  private readonly parts: readonly Part[];
  private readonly graph: SectionGraph | undefined;
  private readonly outlet: Outlet;
  private readonly concurrency: number;
  private readonly minimum: number;
  private readonly settlesAll: boolean;
  /** Settled, but not all that follows from it has happened. */
  private readonly settled: Part[] = [];
  private isSpreading = false;
  private readonly queue: Array<() => void> = [];
  private nextInQueue = 0;
  private running = 0;
  private unsettled: number;
  private isOver = false;

  constructor(sections: Sections, options: FanOutOptions, outlet: Outlet) {
    requireObject(options, 'options', "Use { budget: '1s' }.");
    rejectUnknown(options, KNOWN);
    const { concurrency = Infinity, minimum, onRequiredFailure = 'cancel' } = options;
    this.outlet = outlet;
    this.data = copyOf(sections);
    this.keys = Object.keys(this.data);
    const declared = Object.values(this.data) as Array<Section<unknown>>;
    this.answer = new Answer(options);
    this.parts = declared.map((section, at) => this.partOf(this.keys[at] as string, section));
    this.unsettled = this.parts.length;
    this.concurrency = requireCount(concurrency, 'concurrency', { min: 1, infinite: true });
    this.settlesAll = requireOneOf(onRequiredFailure, 'onRequiredFailure', ['cancel', 'settle']) === 'settle';
    this.minimum = this.leastGood(minimum);
    requireDistinct(declared, this.keys);
    this.graph = SectionGraph.of(this.parts, declared);
  }

  start(): void {
    if (this.graph !== undefined) this.letWait(this.graph);
    for (const part of this.parts) if (part.settings.after === undefined) this.enqueue(part);
  }

  onPart(part: Part): void {
    if (part.hasStarted) this.running -= 1;
    this.unsettled -= 1;
    if (this.isOver) return;
    if (part.state === 'failed' && !this.settlesAll) return this.failBecauseOf(part);

    this.settled.push(part);
    if (!this.isSpreading) this.spread();
  }

  /** Who has noticed tells the others: not every listener of a signal is always called. */
  onLeft(_part: Part, reason: unknown): void {
    if (this.isOver) return;

    this.end(() => this.outlet.reject(reason));
    for (const part of this.parts) part.cancel(reason);
  }

  private partOf(key: string, section: Section<unknown>): Part {
    return withPath(key, () => {
      if (!isSection(section)) {
        throw new OptionError('', `expected a section, got ${show(section)}. Make it with required() or optional().`);
      }
      const part = new Part(section.settings.name ?? requireSectionName(key, ''), section.settings, this);
      this.answer.requireBounded(section.settings);

      return part;
    });
  }

  private leastGood(minimum: number | undefined): number {
    // A required section is one by itself: where it fails, nobody counts the good ones.
    return minimum === undefined ? 1 : requireCount(minimum, 'minimum', { min: 0, max: this.parts.length });
  }

  /** Lets all happen that follows from parts that have settled: a loop, since a chain of skipped ones may be long. */
  private spread(): void {
    this.isSpreading = true;
    for (let part = this.settled.pop(); part !== undefined; part = this.settled.pop()) {
      if (this.graph !== undefined) this.skipAfter(part, this.graph);
    }
    this.isSpreading = false;
    if (this.unsettled === 0) this.conclude();
    else this.startNext();
  }

  private letWait(graph: SectionGraph): void {
    for (const part of this.parts) {
      if (part.settings.after === undefined) continue;

      const resume = resumeLater(() => this.enqueue(part));
      graph.whenReady(part, resume);
    }
  }

  private skipAfter(part: Part, graph: SectionGraph): void {
    for (const follower of graph.onSettled(part)) if (!this.isOver) follower.skip();
  }

  /** Starts a part, or lets it wait for its turn. */
  private enqueue(part: Part): void {
    if (this.running >= this.concurrency) {
      this.queue.push(resumeLater(() => this.startPart(part)));
      return;
    }
    this.running += 1;
    this.startPart(part);
  }

  private startPart(part: Part): void {
    if (this.isOver) return;

    const { left } = this.answer;
    if (left === undefined) part.start();
    else this.onLeft(part, left.reason);
  }

  /** The turn is the next part's from here on, whatever becomes ready before it has started. */
  private startNext(): void {
    while (this.running < this.concurrency && this.nextInQueue < this.queue.length) {
      this.running += 1;
      const resume = this.queue[this.nextInQueue++] as () => void;
      resume();
    }
  }

  private conclude(): void {
    const failed = this.parts.find(({ state }) => state === 'failed');
    if (failed !== undefined) return this.failBecauseOf(failed);

    const good = this.parts.filter(({ state }) => state === 'good').length;
    if (good < this.minimum) return this.end(() => this.outlet.reject(this.tooFew()));

    this.end(() => this.outlet.resolve(this.page()));
  }

  private failBecauseOf(part: Part): void {
    const { failure } = part;
    this.end(() => this.outlet.reject(failure));
    const reason = new SiblingFailedError(part.name, this.answer.name);
    for (const sibling of this.parts) sibling.cancel(reason);
  }

  private tooFew(): SectionFailedError {
    const missing = this.parts.filter(({ degraded }) => degraded !== undefined);
    const { reason } = (missing[0] as Part).degraded as DegradedSection;
    const cause = new AggregateError(missing.map(({ error }) => error));

    return new SectionFailedError({ section: ALL_SECTIONS, reason, cause, status: 502 }, this.answer.name);
  }

  private page(): PartialResponse<unknown> {
    const { data } = this;
    const degraded: DegradedSection[] = [];
    const timings: SectionTiming[] = [];
    this.parts.forEach((part, at) => {
      data[this.keys[at] as string] = part.value;
      timings.push(part.timing);
      if (part.degraded !== undefined) degraded.push(part.degraded);
    });

    return PartialResponse.of<unknown>({ data, degraded, timings });
  }

  /** The first time counts: a promise is settled once. */
  private end(settle: () => void): void {
    this.isOver = true;
    settle();
  }
}

/** @throws TypeError when there is nothing to build an answer from. */
function copyOf(sections: Sections): Record<string, unknown> {
  requireObject(sections, 'sections', 'Use { product: required(…), reviews: optional(…) }.');
  const copy: Record<string | symbol, unknown> = { ...sections };
  for (const symbol of Object.getOwnPropertySymbols(copy)) delete copy[symbol];
  if (Object.keys(copy).length > 0) return copy;

  throw new OptionError('sections', 'there are none. Give at least one, made by required() or optional().');
}

/** @throws TypeError when two parts could not be told apart, or one section would be two of them. */
function requireDistinct(sections: readonly Section<unknown>[], keys: readonly string[]): void {
  // Keys alone are distinct.
  if (sections.some(({ settings }) => settings.name !== undefined)) {
    const twice = firstTwice(sections.map(({ settings }, at) => settings.name ?? keys[at]));
    if (twice !== undefined) {
      throw new OptionError('name', `two sections are called "${twice}". Give each a name of its own.`);
    }
  }
  if (firstTwice(sections) !== undefined) {
    throw new OptionError('sections', 'one section stands there under two keys. Make one for each.');
  }
}

/** So many are compared with each other in less time than a set of them takes. */
const FEW = 8;

function firstTwice<T>(values: readonly T[]): T | undefined {
  if (values.length > FEW && new Set(values).size === values.length) return undefined;

  return values.find((value, at) => values.indexOf(value) < at);
}

/**
 * Something to be called that makes `goOn` run in the async context of this call, and not in that of whoever has just
 * ended.
 */
function resumeLater(goOn: () => void): () => void {
  let resume = (): void => {};
  void new Promise<void>((resolve) => (resume = resolve)).then(goOn);

  return resume;
}
