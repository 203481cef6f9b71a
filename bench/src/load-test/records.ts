import type { Condition } from './phases.js';
import type { BreakerName, BulkheadName, CallName, RouteName } from './settings.js';

/** What the three sides of a run write down. Times are moments of the clock that all processes share. */

/** A call as the dependency saw it. */
export interface SeenCall {
  readonly id: number;
  readonly name: CallName;
  readonly arrivedAt: number;
  readonly endedAt: number;
  /** `cut`: whoever called has closed the connection before there was an answer. */
  readonly outcome: 'answered' | 'refused' | 'reset' | 'broken off' | 'cut';
  /** Calls of this name that ran when it arrived, itself included. */
  readonly concurrent: number;
}

/** What became of a call in the application: cut by a limit, or given up for another reason. */
export type MadeOutcome = 'ok' | 'failed' | 'timed out' | 'cancelled';

export interface PolicyEvent {
  readonly type: string;
  readonly policy: string;
  readonly source?: string | undefined;
  readonly reason?: string | undefined;
  readonly section?: string | undefined;
  readonly active?: number | undefined;
  readonly queued?: number | undefined;
  /** Of breakers, when their state changes. */
  readonly stats?: { readonly total: number; readonly failures: number } | undefined;
}

/** What happened in the application, in the order in which it did. */
export type Entry =
  | { readonly kind: 'start'; readonly at: number; readonly id: number; readonly name: CallName }
  | { readonly kind: 'end'; readonly at: number; readonly id: number; readonly outcome: MadeOutcome }
  | { readonly kind: 'event'; readonly at: number; readonly event: PolicyEvent }
  /** Until then the event loop was held for so long; for so much of that the machine had no processor for it. */
  | { readonly kind: 'held'; readonly at: number; readonly ms: number; readonly starvedMs: number }
  /** Nothing runs; what the policies say of themselves. */
  | { readonly kind: 'rest'; readonly at: number; readonly figures: Figures };

export interface Figures {
  readonly breakers: Readonly<Record<BreakerName, { readonly total: number; readonly failures: number }>>;
  readonly bulkheads: Readonly<
    Record<BulkheadName, { readonly active: number; readonly queued: number; readonly abandoned: number }>
  >;
}

/** What a client saw. */
export interface Answer {
  readonly route: RouteName;
  readonly dueAt: number;
  /** Since it was due. */
  readonly ms: number;
  readonly kind: AnswerKind;
  /** Its status, or what came in place of an answer. */
  readonly told: string;
  /** Sections that a page said it lacks. */
  readonly missing: readonly string[];
}

/** `whole` and `degraded` have a status of 200. */
export type AnswerKind = 'whole' | 'degraded' | 'rejected' | 'timed out' | 'failed' | 'unexpected' | 'none';

/** What the bare application, which has nothing of ours in it, made of the same request. */
export interface BareAnswer {
  readonly dueAt: number;
  readonly ms: number;
  /** Than the wait that it was asked for. */
  readonly lateMs: number;
}

/** All that is known about one phase. */
export interface PhaseRecord {
  readonly condition: Condition;
  readonly from: number;
  readonly to: number;
  readonly answers: readonly Answer[];
  readonly bare: readonly BareAnswer[];
  readonly entries: readonly Entry[];
  readonly seen: readonly SeenCall[];
  /** Of the handler that does not listen to its signal: what the dependency still held at the end. */
  readonly held: number;
}

/** What a process that has served holds, when nothing runs in it. */
export interface Holdings {
  readonly heapBytes: number;
  /** By kind. */
  readonly resources: Readonly<Record<string, number>>;
}

export interface RunRecord {
  readonly seed: number;
  readonly phases: readonly PhaseRecord[];
  readonly before: Holdings;
  readonly after: Holdings;
  /** Warnings of the process of the application, and rejections that nobody handled. */
  readonly complaints: readonly string[];
}
