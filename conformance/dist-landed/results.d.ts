import type { Adapter } from './adapter.js';
import type { Guarantee } from './guarantee.js';
import { type Verdict } from './verdict.js';
/** What one library keeps of all guarantees, in their order. */
export interface LibraryResults {
    readonly library: Pick<Adapter, 'name' | 'version' | 'settings'>;
    readonly verdicts: readonly Verdict[];
}
export declare function resultsOf(adapter: Adapter, guarantees: readonly Guarantee[]): Promise<LibraryResults>;
/** A table for readers: a row for each guarantee, a column for each library, and below it why something fails. */
export declare function table(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string;
/** Why each guarantee fails where it does, where that was seen, and which documented options were set. */
export declare function reasons(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string;
/** What each library keeps by policy, as "held of offered"; a dash where it offers none. */
export declare function summary(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string;
//# sourceMappingURL=results.d.ts.map