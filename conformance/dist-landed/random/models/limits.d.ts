import type { DeadlineModel, Outcome, Run } from '../run.js';
import { StageModel, type Place, type Told } from './stage-model.js';
interface LimitFrame {
    readonly enteredAt: number;
    limitMs: number;
    readonly waitedBefore: number;
    /** The deadline around. */
    readonly around: DeadlineModel | undefined;
    back: Outcome | undefined;
    told: number;
}
declare abstract class LimitModel extends StageModel<LimitFrame> {
    /** What tells of its end. */
    protected abstract readonly event: 'timeout' | 'deadline';
    protected frameOf(run: Run, limitMs: number): LimitFrame;
    goIn(): void;
    protected onBack(_run: Run, frame: LimitFrame, outcome: Outcome): void;
    onEvent({ type, source }: Told): void;
    protected dueAt({ enteredAt, limitMs }: LimitFrame): number;
    protected latenessOf(frame: LimitFrame, error: unknown): number;
    protected requireCode(value: unknown, code: string, field: 'timeoutMs' | 'budgetMs'): (ms: number) => void;
    protected requireTold({ owner }: Run, { told }: LimitFrame): void;
    protected requireInTime(dueAt: number): void;
}
interface AdaptiveLimit {
    readonly limitMs: number;
}
/** The limit of an attempt, or of several. A deadline that comes first is left to whoever set it. */
export declare class TimeoutModel extends LimitModel {
    private readonly limit;
    protected readonly event = "timeout";
    constructor(place: Place, limit: number | AdaptiveLimit);
    check(isOver: boolean): void;
    protected begin(run: Run): LimitFrame;
    protected onLeave(run: Run, frame: LimitFrame, outcome: Outcome): void;
    private onDeadline;
    private deadlineBefore;
}
/** All that a call does, within one amount of time; `undefined` lets calls pass that have none of their own. */
export declare class BudgetModel extends LimitModel {
    private readonly budgetMs;
    protected readonly event = "deadline";
    constructor(place: Place, budgetMs: number | undefined);
    check(isOver: boolean): void;
    protected begin(run: Run): LimitFrame;
    protected onCut(run: Run, frame: LimitFrame): void;
    protected onLeave(run: Run, frame: LimitFrame, outcome: Outcome): void;
    /** An answer of the last moment, or word of the deadline from work that heard of it before its call did. */
    private comesTooLate;
}
export {};
//# sourceMappingURL=limits.d.ts.map