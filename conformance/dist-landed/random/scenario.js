/**
 * A random execution as data: what is built, and what happens then, step by step. A scenario is all that is needed to
 * see an execution again, so that one can be shortened, printed, and pasted. Durations are in milliseconds.
 */
export {};
//# sourceMappingURL=scenario.js.map