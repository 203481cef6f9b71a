import type { Attempt } from '../src/attempt.js';
import { Execution, type ExecuteOptions, type Work } from '../src/execution.js';
import type { ResiliencePolicy } from '../src/index.js';

export interface Counted {
  readonly policy: ResiliencePolicy;
  readonly work: Work;
  readonly options: ExecuteOptions;
  /** Whether slots are kept as by `execute()`, or given back at a limit as at the entrypoints of a framework. */
  readonly keepsSlots: boolean;
  readonly onDelivery: (ok: boolean, value: unknown) => void;
}

/** An execution that shows each of its deliveries; a promise would swallow a second one. */
export class CountedExecution extends Execution {
  private readonly counted: Counted;

  constructor(counted: Counted) {
    super(counted.policy.pipeline, counted.options);
    this.counted = counted;
  }

  override get keepsSlots(): boolean {
    return this.counted.keepsSlots;
  }

  performWork(attempt: Attempt): void {
    this.performHandler(attempt, this.counted.work);
  }

  protected performHandler(attempt: Attempt, handler: Work): void {
    let result: unknown;
    try {
      result = handler(attempt);
    } catch (error) {
      this.settle(attempt, false, error);
      return;
    }
    if (!(result instanceof Promise)) {
      this.settle(attempt, true, result);
      return;
    }
    result.then(
      (value) => this.settle(attempt, true, value),
      (error: unknown) => this.settle(attempt, false, error),
    );
  }

  protected deliver(ok: boolean, value: unknown): void {
    this.counted.onDelivery(ok, value);
  }
}
