// Calls
export { fetchJson } from './fetch-json.js';

// Outcomes
export { FetchFailedError, requireValue } from './outcome.js';
export type { FetchFailure, FetchOutcome, FetchSuccess, TimeoutReason } from './outcome.js';

// Reports
export { reportTimeout, type TimeoutEvent } from './report.js';
