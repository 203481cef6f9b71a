/**
 * A random execution as data: what is built, and what happens then, step by step. A scenario is all that is needed to
 * see an execution again, so that one can be shortened, printed, and pasted. Durations are in milliseconds.
 */

/** What a predicate says: as the default does, always the same, or an error of its own. */
export type Predicate = 'default' | 'yes' | 'no' | 'throws';

export interface RetryRecipe {
  readonly kind: 'retry';
  readonly attempts: number;
  readonly delay: number;
  readonly factor: number;
  /** Whether the wait is told by a function. */
  readonly asFunction: boolean;
  readonly retryIf: Predicate;
  /** Whether results are retried; `undefined` without such a predicate. */
  readonly onResult: Predicate | undefined;
}

export interface TimeoutRecipe {
  readonly kind: 'timeout';
  readonly ms: number;
  readonly as: 'number' | 'function' | 'adaptive';
}

export interface BudgetRecipe {
  readonly kind: 'budget';
  readonly ms: number;
}

export interface BreakerRecipe {
  readonly kind: 'breaker';
  readonly threshold: number;
  readonly minimumCalls: number;
  readonly window: { readonly type: 'count' | 'time'; readonly size: number };
  readonly openMs: number;
  readonly probes: number;
  readonly lease: number;
  readonly inARow: number | undefined;
  readonly recordIf: Predicate;
}

export interface BulkheadRecipe {
  readonly kind: 'bulkhead';
  readonly slots: number;
  readonly queue: number;
  readonly queueTimeout: number | undefined;
  /** Whether work that was given up keeps its slot. */
  readonly holds: boolean;
}

export interface RateLimitRecipe {
  readonly kind: 'rate limit';
  readonly limit: number;
  /** How long a token takes to come: the interval is `limit` times that. */
  readonly perToken: number;
  readonly maxWait: number;
}

export interface FallbackRecipe {
  readonly kind: 'fallback';
  readonly answers: 'value' | 'promise' | 'throws' | 'slowly';
  readonly handleIf: Predicate;
}

export type PolicyRecipe =
  RetryRecipe | TimeoutRecipe | BudgetRecipe | BreakerRecipe | BulkheadRecipe | RateLimitRecipe | FallbackRecipe;

export interface StackRecipe {
  /** Places in {@link Scenario.policies}, the outermost first. */
  readonly policies: readonly number[];
  /** How they are put around each other: by one wrap, or by wraps in wraps. */
  readonly by: 'wrap' | 'wraps';
}

export interface Work {
  readonly does: 'answer' | 'throw' | 'resolve' | 'reject' | 'hang' | 'honour' | 'start';
  /** When it resolves or rejects; 0 needs no time. */
  readonly after: number;
  /** Whether a timer of the work ends it, or input from outside. */
  readonly byTimer: boolean;
  readonly error: 'down' | 'not found' | 'retry after';
  /** When it asks for its signal. */
  readonly asks: 'at once' | 'late' | 'never';
  /** What it starts, for `start`. */
  readonly starts?: Start;
  /** Whether it waits for what it starts. */
  readonly waits?: boolean;
}

/** Under what something is called. */
interface Called {
  /** Which caller's signal is given, by number; that of the work around; or none. */
  readonly signal: number | 'own' | undefined;
  readonly budget: number | undefined;
  readonly detached: boolean;
}

export interface CallStep extends Called {
  readonly kind: 'call';
  readonly stack: number;
  readonly ambient: boolean;
  /** What the attempts do, one after the other; the last one is that of all further ones. */
  readonly works: readonly Work[];
}

export interface SectionRecipe {
  readonly required: boolean;
  readonly timeout: number | undefined;
  readonly stack: number | undefined;
  readonly work: Work;
  readonly fallback: 'value' | 'function' | 'throws';
  /** Which of the sections before it needs, by number. */
  readonly after: readonly number[];
}

export interface AnswerStep extends Called {
  readonly kind: 'fan out' | 'collect';
  readonly sections: readonly SectionRecipe[];
  /** How many run at once; of a fan-out. */
  readonly concurrency: number | undefined;
  readonly settles: boolean;
}

export type Start = CallStep | AnswerStep;

/** A call under `createPolicy()`, with nothing between its stages that looks at them. Its work starts nothing. */
export interface PlainCallStep {
  readonly kind: 'plain call';
  readonly signal: number | undefined;
  readonly budget: number | undefined;
  readonly works: readonly Work[];
}

export type Step =
  | Start
  | PlainCallStep
  | { readonly kind: 'pass' | 'stall' | 'step the wall clock'; readonly ms: number }
  /** A caller leaves: now, or in the so many-th callback from now on. */
  | { readonly kind: 'abort'; readonly caller: number; readonly inCallback: number }
  | { readonly kind: 'trip' | 'reset'; readonly policy: number };

export interface Scenario {
  /** Decides between what may come in any order. */
  readonly ties: number;
  readonly policies: readonly PolicyRecipe[];
  readonly stacks: readonly StackRecipe[];
  /** Those of the policy of plain calls, at most one of each kind. */
  readonly stages: readonly PolicyRecipe[];
  /** Whether every listener of events throws. */
  readonly listenersThrow: boolean;
  readonly steps: readonly Step[];
}
