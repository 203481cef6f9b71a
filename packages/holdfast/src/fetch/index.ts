// Calls
export { fetchJson } from './fetch-json.js';

// Outcomes
export { FetchFailedError, requireValue } from './outcome.js';
export type { FetchFailure, FetchOutcome, FetchSuccess, TimeoutReason } from './outcome.js';

// Reports
export { reportTimeout, type TimeoutEvent } from './report.js';

// Marks of a degraded answer, also in the engine's own exports
export { degradedHeaders, isHeaderOfWholeAnswers, type DegradedHeadersOptions } from '../sections/degraded-headers.js';
