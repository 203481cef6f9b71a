/** What executions have to reach, each in at least {@link LEAST_PERCENT} of them. */
export declare const STATES: readonly ["open", "half-open", "closed again", "queue full", "queue timeout", "granted from the queue", "deadline expired", "refused without time", "timed out", "abandoned", "retried", "aborted while it waits", "aborted in a queue", "aborted in a callback", "aborted by the call around", "token wait", "rate limited", "probe lease lost", "fallback used", "own error of a predicate", "section degraded", "section skipped", "section required and failed", "nested", "clock stepped", "late timer", "late outcome dropped"];
export type State = (typeof STATES)[number];
export declare const LEAST_PERCENT = 1;
/** In how many executions each state was reached. */
export declare class Coverage {
    executions: number;
    private readonly counts;
    add(reached: ReadonlySet<State>): void;
    percentOf(state: State): number;
    /** States that too few executions have reached. */
    get missed(): readonly State[];
    get lines(): readonly string[];
}
//# sourceMappingURL=coverage.d.ts.map