import type { Engine } from './engine.js';
import type { InvariantId } from './invariants.js';
/** The right engine with one fault, of the kind that real code has; by the invariant that finds it. */
export declare const FAULTS: Readonly<Record<InvariantId, (engine: Engine) => Engine>>;
//# sourceMappingURL=faults.d.ts.map