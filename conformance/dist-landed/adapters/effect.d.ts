import { type Adapter } from '../adapter.js';
export declare const effect: Adapter;
//# sourceMappingURL=effect.d.ts.map