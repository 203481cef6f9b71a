import type { Failure } from './campaign.js';
import type { Scenario } from './scenario.js';
/** A failure as somebody reads it who wants to see it again: what does not hold, the scenario, and how to play it. */
export declare function storyOf({ seed, scenario, violations }: Failure): string;
/** A scenario in words. */
export declare function linesOf({ policies, stacks, steps, listenersThrow }: Scenario): readonly string[];
//# sourceMappingURL=story.d.ts.map