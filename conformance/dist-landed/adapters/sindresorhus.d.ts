import { type Adapter } from '../adapter.js';
export declare const sindresorhus: Adapter;
//# sourceMappingURL=sindresorhus.d.ts.map