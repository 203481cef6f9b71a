export { fetchJson, requireValue, type FetchOutcome, type TimeoutReason } from 'holdfast/fetch';
