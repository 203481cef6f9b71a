import { type Adapter } from '../adapter.js';
export declare const cockatiel: Adapter;
//# sourceMappingURL=cockatiel.d.ts.map