/**
 * Counts elements of arrays that are looked at or moved while `run` does its part, at most: what takes time with the
 * length of a list, without looking at a clock.
 */
export declare function elementSteps(run: () => Promise<void>): Promise<number>;
//# sourceMappingURL=element-steps.d.ts.map