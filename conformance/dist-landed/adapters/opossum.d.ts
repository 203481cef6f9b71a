import { type Adapter } from '../adapter.js';
export declare const opossum: Adapter;
//# sourceMappingURL=opossum.d.ts.map