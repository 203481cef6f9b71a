import type { Deadline } from '../deadline.js';
import { SectionFailedError } from '../errors.js';
import type { Work } from '../execution.js';
import { refusePromise } from '../options.js';
import type { AttemptContext } from '../scope.js';
import { limitBehind } from '../time-limit-error.js';
import type { Answer } from './answer.js';
import { reasonOf, type DegradedReason, type DegradedSection } from './degraded.js';
import type { SectionTiming } from './partial-response.js';
import type { SectionSettings } from './section.js';
import { SectionExecution, type SectionOwner } from './section-execution.js';

/** Who puts the parts of an answer together. */
export interface Assembly {
  readonly answer: Answer;
  onPart(part: Part): void;
  /** The caller, or the attempt around, has aborted. */
  onLeft(part: Part, reason: unknown): void;
}

/** How a part stands: `degraded` with its fallback, `failed` without any value. */
type PartState = 'unsettled' | 'good' | 'degraded' | 'failed';

/** A section within one answer. */
export class Part implements SectionOwner {
  readonly name: string;
  readonly settings: SectionSettings;
  state: PartState = 'unsettled';
  /** Its own value, or its fallback. */
  value: unknown = undefined;
  error: unknown = undefined;
  degraded: DegradedSection | undefined = undefined;
  /** Whether it had its turn. */
  hasStarted = false;
  /** How long it took, in whole milliseconds. */
  tookMs = 0;
  /** The values that it waited for. */
  inputs: Readonly<Record<string, unknown>> | undefined = undefined;
  private readonly assembly: Assembly;
  private execution: SectionExecution | undefined = undefined;

  constructor(name: string, settings: SectionSettings, assembly: Assembly) {
    this.name = name;
    this.settings = settings;
    this.assembly = assembly;
  }

  get answer(): Answer {
    return this.assembly.answer;
  }

  start(): void {
    this.hasStarted = true;
    this.execution = new SectionExecution(this);
    this.execution.start();
  }

  /** A section that it needs has no value of its own. */
  skip(): void {
    this.fail('skipped', undefined);
    this.assembly.onPart(this);
  }

  /** Nobody needs it any more. */
  cancel(reason: unknown): void {
    this.execution?.onAbort(reason);
  }

  get work(): Work {
    const { inputs } = this;
    const run = this.settings.run as (context: object) => unknown;

    return inputs === undefined ? run : (attempt) => run(withInputs(attempt, inputs));
  }

  onSettled(ok: boolean, value: unknown): void {
    const { tookMs, hasRun } = this.execution as SectionExecution;
    this.execution = undefined;
    this.tookMs = tookMs;
    if (ok) {
      this.state = 'good';
      this.value = value;
    } else {
      this.fail(reasonOf(value, hasRun), limitBehind(value) ?? value);
    }
    this.assembly.onPart(this);
  }

  onLeft(reason: unknown): void {
    const { tookMs } = this.execution as SectionExecution;
    this.execution = undefined;
    this.tookMs = tookMs;
    this.degraded = { section: this.name, reason: 'client_abort', waitedMs: tookMs };
    this.error = reason;
    this.state = 'failed';
    this.assembly.onLeft(this, reason);
  }

  get timing(): SectionTiming {
    const { name: section, tookMs: ms, degraded } = this;

    return degraded === undefined ? { section, ms } : { section, ms, reason: degraded.reason };
  }

  /** What a failed part makes of the whole answer. */
  get failure(): SectionFailedError {
    const { name: section, degraded, error: cause, settings } = this;
    const { reason } = degraded as DegradedSection;
    const passing = settings.status === undefined ? passingStatus(cause) : undefined;
    const status = settings.status ?? passing ?? 502;
    // What is not there will not be there in five seconds either.
    const retryAfterMs = passing === undefined ? settings.retryAfterMs : undefined;

    return new SectionFailedError({ section, reason, cause, status, retryAfterMs }, this.answer.name);
  }

  private fail(reason: DegradedReason, error: unknown): void {
    this.degraded = { section: this.name, reason, waitedMs: this.tookMs };
    this.error = error;
    this.state = 'failed';
    if (!this.settings.isRequired) this.fallBack(error);
    this.answer.report(this.degraded, error);
  }

  /** A fallback that fails leaves the section without any value, as if it were required. */
  private fallBack(error: unknown): void {
    const { fallback } = this.settings;
    try {
      const value: unknown =
        typeof fallback === 'function' ? (fallback as (error: unknown) => unknown)(error) : fallback;
      refusePromise(value, `fallback of section "${this.name}"`, 'a value');
      this.value = value;
      this.state = 'degraded';
    } catch (flaw) {
      this.error = flaw;
    }
  }
}

/** The attempt with the values that its section waited for. Its signal is still only made when it is asked for. */
function withInputs(attempt: AttemptContext, inputs: Readonly<Record<string, unknown>>): object {
  return Object.defineProperties(
    { ...inputs },
    {
      attempt: { value: attempt.attempt, enumerable: true },
      signal: { get: (): AbortSignal => attempt.signal, enumerable: true },
      deadline: { get: (): Deadline | undefined => attempt.deadline, enumerable: true },
    },
  );
}

interface Answered {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly response?: { readonly status?: unknown } | null | undefined;
  readonly getStatus?: () => unknown;
}

/** What says that there is no such thing is no fault of the dependency, and passes. */
function passingStatus(error: unknown): number | undefined {
  try {
    const { status, statusCode, response } = error as Answered;
    const given =
      typeof (error as Answered).getStatus === 'function' ? (error as Required<Answered>).getStatus() : undefined;
    return [given, status, statusCode, response?.status].find((one): one is number => one === 404 || one === 410);
  } catch {
    // It may be nothing, or something that does not let itself be looked at.
    return undefined;
  }
}
