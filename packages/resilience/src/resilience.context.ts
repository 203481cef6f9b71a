import { Injectable } from '@nestjs/common';
import type { Deadline } from 'holdfast';
import { currentScope, runInScope, type ScopeOptions } from 'holdfast/binding';

/**
 * The attempt that the running code belongs to, in any service that a handler or a policy's function calls, on every
 * transport. An attempt that has settled or was given up is no longer current.
 */
@Injectable()
export class ResilienceContext {
  /** Aborts when the current attempt is given up; `undefined` outside of attempts. */
  get signal(): AbortSignal | undefined {
    return currentScope()?.signal;
  }

  /** The number of the current attempt, from 1; `undefined` outside of attempts. */
  get attempt(): number | undefined {
    return currentScope()?.attempt;
  }

  /**
   * The deadline of the current attempt, that of a caller included: how much time a database may be given, for example.
   * `undefined` outside of attempts, and where none was set.
   */
  get deadline(): Deadline | undefined {
    return currentScope()?.deadline;
  }

  /**
   * Runs `work` as if inside an attempt with this signal and, if given, this number, and returns what it returns. Work
   * that it starts and that outlives it keeps the signal. Inside an attempt, both that attempt's signal and this one
   * count until either it or `work` has settled.
   */
  run<T>(options: ScopeOptions, work: () => T): T {
    return runInScope(options, work);
  }
}
