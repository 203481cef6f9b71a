import type { ResilienceEvent } from './events.js';

const TYPES: Readonly<Record<ResilienceEvent['type'], true>> = {
  retry: true,
  timeout: true,
  'circuit-open': true,
  'circuit-half-open': true,
  'circuit-closed': true,
  'circuit-rejected': true,
  'bulkhead-rejected': true,
  'rate-limited': true,
  fallback: true,
  abandoned: true,
  deadline: true,
  degraded: true,
  'client-gone': true,
};

/** Every type of event, for those who open a channel for each. */
export const EVENT_TYPES = Object.keys(TYPES) as readonly ResilienceEvent['type'][];
