import 'reflect-metadata';
import { type Adapter } from '../adapter.js';
export declare const nestjsResilience: Adapter;
//# sourceMappingURL=nestjs-resilience.d.ts.map