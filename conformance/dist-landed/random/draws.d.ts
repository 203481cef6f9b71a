/** Numbers that look like chance and are the same again for the same seed (SplitMix32). */
export declare class Draws {
    private state;
    constructor(seed: number);
    /** Whole, from 0 up to `limit`, without that. */
    below(limit: number): number;
    /** Whole, with both ends. */
    from(least: number, most: number): number;
    /** True in `percent` of 100 cases. */
    chance(percent: number): boolean;
    pick<T>(items: readonly T[]): T;
    /** So many of what `draw` gives. */
    list<T>(length: number, draw: () => T): T[];
}
//# sourceMappingURL=draws.d.ts.map