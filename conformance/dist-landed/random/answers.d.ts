import type { Engine } from './engine.js';
import type { Started } from './calls.js';
import type { AnswerStep, SectionRecipe } from './scenario.js';
import { type Watch } from './watch.js';
type Policy = InstanceType<Engine['ResiliencePolicy']>;
type Perform = (recipe: SectionRecipe, context: object) => unknown;
type Told = {
    readonly type: string;
    readonly source?: string | undefined;
    readonly section?: string;
};
/** What an answer is begun with. */
export interface AnswerParts {
    readonly step: AnswerStep;
    readonly started: Started;
    readonly options: object;
    readonly policyOf: (recipe: SectionRecipe) => Policy | undefined;
    readonly perform: Perform;
}
/** One answer of sections, and what is known of them. */
export declare class AnswerTrial {
    private readonly engine;
    private readonly watch;
    private readonly parts;
    private readonly ran;
    private readonly told;
    private readonly endsAt;
    private isChecked;
    constructor(engine: Engine, watch: Watch, parts: AnswerParts);
    begin(): Promise<unknown>;
    onEvent({ type, source, section }: Told): void;
    check(isOver: boolean): void;
    private fanOut;
    private collect;
    private declare;
    private run;
    private checkPage;
    private checkError;
}
export {};
//# sourceMappingURL=answers.d.ts.map