import { now } from '../clock.js';
import { Deadline, earliest, readMinRemaining } from '../deadline.js';
import { parseDuration, type Duration } from '../duration.js';
import { EventSource } from '../events.js';
import type { ExecuteOptions } from '../execution.js';
import { OptionError, requireBoolean, requireName, show } from '../options.js';
import { currentScope, type Bound, type Scope } from '../scope.js';
import type { DegradedSection } from './degraded.js';
import type { SectionSettings } from './section.js';

/** What an answer is built under, whether its sections run side by side or one after the other. */
export interface AnswerOptions {
  /** Shown in events and errors as `policy`. Default `'fan-out'`. */
  readonly name?: string | undefined;
  /** For all sections together. Greater than 0. Default: what is left where it is used. */
  readonly budget?: Duration | undefined;
  /** How much of the budget sections may not spend, unless they say otherwise. Less than the budget; default 0. */
  readonly reserve?: Duration | undefined;
  /**
   * How long before a limit that it is used in (a budget, a timeout, a caller's deadline) the sections are settled, so
   * that the partial answer leaves in time. At most a tenth of what is left then. Default 20 ms.
   */
  readonly margin?: Duration | undefined;
  /** No section is started with less left. Less than the budget. Default: that of the deadline that it is used in, else 1 ms. */
  readonly minRemaining?: Duration | undefined;
  /** Gives the answer up when it aborts. Joins the signal of the attempt that it is used in. */
  readonly signal?: AbortSignal | undefined;
  /** Labels the events. */
  readonly source?: string | undefined;
  /** Cuts the link to the attempt that it is used in. Default `false`. */
  readonly detached?: boolean | undefined;
}

export const ANSWER_OPTIONS = [
  'name',
  'budget',
  'reserve',
  'margin',
  'minRemaining',
  'signal',
  'source',
  'detached',
] as const;

/** Told of each answer when it is begun. */
export type AnswerObserver = (answer: {
  readonly name: string;
  readonly budgetMs: number;
  readonly scope: Scope;
}) => void;

const observers = new Set<AnswerObserver>();

/** Calls `observer` with each answer that is begun inside an attempt, until the returned function is called. */
export function observeAnswers(observer: AnswerObserver): () => void {
  observers.add(observer);

  return () => void observers.delete(observer);
}

/** Of the answer whose event is being told. */
let tellingFrom: Scope | undefined;

/**
 * Where the answer was begun whose `degraded` event listeners are being told right now; `undefined` outside of attempts
 * and of such events. Listeners may be called by timers, in whatever async context these run.
 */
export function answerScope(): Scope | undefined {
  return tellingFrom;
}

const events = new EventSource();
const DEFAULT_MARGIN_MS = 20;
const LARGEST_MARGIN_SHARE = 0.1;

/** What all sections of one answer share. */
export class Answer {
  readonly name: string;
  /** By when its sections are settled; `undefined` when nothing but their own limits bounds them. */
  readonly deadline: Deadline | undefined;
  readonly reserveMs: number;
  readonly budgetMs: number;
  /** How each section is executed. */
  readonly callOptions: ExecuteOptions;
  readonly scope: Scope | undefined;
  /** Also when it is detached from that. */
  private readonly begunIn: Scope | undefined;

  /** @throws TypeError naming the option. */
  constructor(options: AnswerOptions) {
    const { name = 'fan-out', budget, reserve, signal, source, detached } = options;
    this.name = requireName(name, 'name');
    this.budgetMs = budget === undefined ? Infinity : parseDuration(budget, 'budget', { positive: true });
    this.reserveMs = reserve === undefined ? 0 : parseDuration(reserve, 'reserve');
    this.requireReserve(this.reserveMs);
    if (source !== undefined) requireName(source, 'source');
    if (detached !== undefined) requireBoolean(detached, 'detached');
    this.callOptions = { signal: requireSignal(signal), source, detached };
    this.begunIn = currentScope();
    this.scope = detached === true ? undefined : this.begunIn;
    this.deadline = this.earliestDeadline(options);
    if (this.scope !== undefined) this.tell(this.scope);
  }

  get source(): string | undefined {
    return this.callOptions.source;
  }

  /** The reason of the abort of the caller, or of the attempt around, as `{ reason }`; `undefined` while nobody has. */
  get left(): { readonly reason: unknown } | undefined {
    const { signal } = this.callOptions;
    const aborted = signal?.aborted === true ? signal : this.scope?.aborted === true ? this.scope.signal : undefined;

    return aborted === undefined ? undefined : { reason: aborted.reason };
  }

  /** @throws TypeError when nothing would ever end a section, or it would keep back more than there is. */
  requireBounded({ policy, reserveMs, timeout }: SectionSettings): void {
    if (reserveMs !== undefined) this.requireReserve(reserveMs);
    if (timeout !== undefined || this.deadline !== undefined) return;
    if (policy?.pipeline.limits === true) return;

    throw new OptionError(
      'timeout',
      'nothing would ever end this section. Give it a timeout, or the whole answer a budget, such as ' +
        "fanOut(sections, { budget: '1s' }).",
    );
  }

  report({ section, reason, waitedMs }: DegradedSection, error: unknown): void {
    if (!events.isObserved('degraded')) return;

    const { name: policy, source } = this;
    const outerAnswer = tellingFrom;
    tellingFrom = this.begunIn;
    try {
      events.emit({ type: 'degraded', policy, source, section, reason, waitedMs, error });
    } finally {
      tellingFrom = outerAnswer;
    }
  }

  private requireReserve(reserveMs: number): void {
    if (reserveMs < this.budgetMs) return;

    throw new OptionError(
      'reserve',
      `${reserveMs} ms leave nothing of a budget of ${this.budgetMs} ms. Reserve less, or raise the budget.`,
    );
  }

  private earliestDeadline({ margin, minRemaining }: AnswerOptions): Deadline | undefined {
    const { scope } = this;
    const marginMs = margin === undefined ? DEFAULT_MARGIN_MS : parseDuration(margin, 'margin');
    const minRemainingMs =
      minRemaining === undefined ? scope?.deadline?.minRemainingMs : readMinRemaining(minRemaining, this.budgetMs);
    const startedAt = now();
    const options = { policy: this.name, minRemainingMs };
    const own = this.budgetMs === Infinity ? undefined : Deadline.from(startedAt, this.budgetMs, options);
    if (scope?.bound === undefined) return own;

    const { bound, deadline } = scope;
    const leftMs = Math.max(0, bound.dueAt - startedAt);
    const expiresAt = bound.dueAt - Math.min(marginMs, leftMs * LARGEST_MARGIN_SHARE);
    // As long as the limit around: who is cut soon after a late start has not had his time, and says nothing.
    const inherited = isFromOutside(bound, deadline);
    const around = Deadline.from(bound.startedAt, expiresAt - bound.startedAt, { ...options, inherited });
    return own === undefined ? around : earliest(around, own);
  }

  private tell(scope: Scope): void {
    for (const observer of observers) observer({ name: this.name, budgetMs: this.budgetMs, scope });
  }
}

/** Whether the limit around was set on the other side of the wire. */
function isFromOutside({ dueAt }: Bound, deadline: Deadline | undefined): boolean {
  return deadline?.inherited === true && deadline.expiresAt <= dueAt;
}

function requireSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || typeof (signal as Partial<AbortSignal> | null)?.addEventListener === 'function') {
    return signal;
  }

  throw new OptionError('signal', `expected an AbortSignal, got ${show(signal)}.`);
}
