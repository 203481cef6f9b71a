/** Numbers that look like chance and are the same again for the same seed (SplitMix32). */
export class Draws {
    constructor(seed) {
        this.state = seed | 0;
    }
    /** Whole, from 0 up to `limit`, without that. */
    below(limit) {
        this.state = (this.state + 0x9e3779b9) | 0;
        let mixed = Math.imul(this.state ^ (this.state >>> 16), 0x21f0aaad);
        mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
        return Math.floor((((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32) * limit);
    }
    /** Whole, with both ends. */
    from(least, most) {
        return least + this.below(most - least + 1);
    }
    /** True in `percent` of 100 cases. */
    chance(percent) {
        return this.below(100) < percent;
    }
    pick(items) {
        return items[this.below(items.length)];
    }
    /** So many of what `draw` gives. */
    list(length, draw) {
        return Array.from({ length }, draw);
    }
}
//# sourceMappingURL=draws.js.map