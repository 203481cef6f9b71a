import {
  collect,
  SectionFailedError,
  type DeclaredValue,
  type DegradedSection,
  type SectionCollector,
  type SectionDeclaration,
  type SectionFunction,
} from 'holdfast';
import { reportTimeout } from './report.js';

/** A step without which the request is refused: a gate that failed, or any that its client did not wait for. */
export class StepRefusedError extends Error {
  override readonly name = 'StepRefusedError';
  readonly step: DegradedSection;

  constructor(step: DegradedSection, cause: unknown) {
    super(`${step.section}: ${step.reason}`, { cause });
    this.step = step;
  }
}

export interface StepsOptions {
  readonly budget: number;
  readonly reserve: number;
  /** That of the request. */
  readonly signal: AbortSignal;
}

/** The steps of one request under one budget. Each that is missing leaves a line in the log. */
export class Steps {
  readonly #parts: SectionCollector;
  readonly #signal: AbortSignal;

  // #region collect
  constructor({ budget, reserve, signal }: StepsOptions) {
    this.#parts = collect({ name: 'edge-gateway', budget, reserve, signal });
    this.#signal = signal;
  }
  // #endregion

  /** Those that the answer does without. */
  get degraded(): readonly DegradedSection[] {
    return this.#parts.degraded;
  }

  /**
   * What a step gives, or its fallback when it fails open.
   *
   * @throws StepRefusedError when it fails closed, and when the client has left: nobody waits for the rest then.
   */
  async run<V, const D extends SectionDeclaration>(step: D, ask: SectionFunction<V>): Promise<DeclaredValue<D, V>> {
    const before = this.#parts.remaining();
    try {
      // #region step
      const value = await this.#parts.step(step, ask);
      // #endregion
      this.#report(step, this.#missing(step));
      return value;
    } catch (error) {
      const missing = error instanceof SectionFailedError ? this.#missing(step) : this.#left(step, before);
      if (missing === undefined) throw error;

      this.#report(step, missing);
      throw new StepRefusedError(missing, error);
    }
  }

  #missing({ name }: SectionDeclaration): DegradedSection | undefined {
    return this.#parts.degraded.find(({ section }) => section === name);
  }

  /** A client that leaves ends its request at once, whatever kind of step that meets: it says nothing about the step. */
  #left({ name }: SectionDeclaration, before: number): DegradedSection | undefined {
    if (!this.#signal.aborted) return undefined;

    return { section: name, reason: 'client_abort', waitedMs: Math.round(before - this.#parts.remaining()) };
  }

  // #region report
  #report(step: SectionDeclaration, missing: DegradedSection | undefined): void {
    if (missing === undefined) return;

    reportTimeout({
      step: step.name,
      reason: missing.reason,
      waitedMs: missing.waitedMs,
      budgetLeftMs: this.#parts.remaining(),
      policy: step.onFailure,
    });
  }
  // #endregion
}
