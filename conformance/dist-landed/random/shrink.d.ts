import type { Scenario } from './scenario.js';
/**
 * The shortest scenario that still fails, as far as leaving out and shortening one thing at a time leads: steps,
 * policies, stages, attempts, sections, waits. Each try is a whole execution.
 *
 * @param fails Whether a scenario fails in the way that is looked for.
 * @param tries How many executions it may take at most.
 */
export declare function shrink(scenario: Scenario, fails: (scenario: Scenario) => Promise<boolean>, tries?: number): Promise<Scenario>;
/** Scenarios that are a little shorter, the much shorter ones first. */
export declare function shorter(scenario: Scenario): Generator<Scenario>;
//# sourceMappingURL=shrink.d.ts.map