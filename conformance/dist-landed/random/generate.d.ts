import type { Scenario } from './scenario.js';
/** The scenario of a seed: always the same. */
export declare function scenarioOf(seed: number): Scenario;
//# sourceMappingURL=generate.d.ts.map