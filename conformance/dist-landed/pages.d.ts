import type { Guarantee } from './guarantee.js';
import { type LibraryResults } from './results.js';
/** What was measured, with what, and when. */
export interface Measured {
    readonly guarantees: readonly Guarantee[];
    readonly results: readonly LibraryResults[];
    /** Of libraries that do not run here, a line each. */
    readonly absent: readonly string[];
    /** As in 2026-11-30. */
    readonly date: string;
}
/** The whole report. */
export declare function resultsPage({ guarantees, results, absent, date }: Measured): string;
/** Each guarantee, with the file in which its scenario is. */
export declare function guaranteesPage(byFile?: Readonly<Record<string, readonly Guarantee[]>>): string;
/** What other libraries were found to keep: nothing that was not measured. */
export declare function comparisonPage({ guarantees, results, absent, date }: Measured): string;
//# sourceMappingURL=pages.d.ts.map