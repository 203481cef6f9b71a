import { type Adapter } from '../adapter.js';
export declare const undici: Adapter;
//# sourceMappingURL=undici.d.ts.map