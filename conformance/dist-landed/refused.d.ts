import { type Policy } from './adapter.js';
import type { VirtualClock } from './virtual-clock.js';
/** Settings that make no sense are refused when the policy is made, or by its calls. */
export declare function assertRefused(make: () => Policy, clock: VirtualClock): Promise<void>;
//# sourceMappingURL=refused.d.ts.map