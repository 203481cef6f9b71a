import { type Watch } from '../watch.js';
/** What has been spent since a call came to a stage that may refuse it. */
export declare class RefusalCost {
    private readonly watch;
    private readonly timers;
    private readonly controllers;
    constructor(watch: Watch);
    requireNone(name: string, error: unknown): void;
}
//# sourceMappingURL=refusal-cost.d.ts.map