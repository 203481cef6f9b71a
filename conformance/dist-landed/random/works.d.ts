import type { FallbackModel } from './models/fallback.js';
import type { Layers } from './layers.js';
import { AttemptRecord, type AttemptContext, type Run } from './run.js';
import type { FallbackRecipe, Start, Work } from './scenario.js';
import type { HandlerGiven } from './build.js';
import { type Watch } from './watch.js';
/** Starts something inside of an attempt; its promise is for whoever waits for it. */
export type Starter = (start: Start, inside: AttemptRecord) => Promise<unknown>;
/** Does what work does in a scenario, and looks at what attempts are given. */
export declare class Works {
    private readonly watch;
    private readonly layers;
    private readonly starter;
    /** Those whose signals are to be looked at. */
    private readonly attempts;
    private readonly hanging;
    private readonly waiting;
    private readonly signals;
    constructor(watch: Watch, layers: Layers, starter: Starter);
    /** The work of an attempt is called. */
    attempt(run: Run | undefined, context: AttemptContext): AttemptRecord | undefined;
    perform(work: Work, attempt: AttemptRecord): unknown;
    /** The handler of a fallback is called. */
    readonly handler: (model: FallbackModel, { answers }: FallbackRecipe, { error, context }: HandlerGiven) => unknown;
    /** After each turn: signals are what their attempts are. */
    check(): void;
    get areHanging(): boolean;
    /** Lets all work that hangs end; `also` that which waits for calls of its own, such as for a slot that it holds itself. */
    endAll(also: 'what waits' | undefined): void;
    private record;
    private askSignal;
    private ended;
    private onEnd;
    private hang;
    private honour;
    private start;
    private after;
}
//# sourceMappingURL=works.d.ts.map