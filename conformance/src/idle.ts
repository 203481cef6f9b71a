import type { Adapter, Policy } from './adapter.js';
import { nested } from './adapters/nested.js';

/** Runs the work, hands it the caller's signal, and does nothing else. */
const policy = (): Policy => ({ run: async (work, signal) => work({ signal }) });

/** A library that has everything and does nothing: what a scenario finds to hold of it, it has not looked at. */
export const idle: Required<Adapter> = {
  name: 'idle',
  version: '0.0.0',
  settings: {},
  signals: true,
  states: true,
  retry: policy,
  timeout: policy,
  breaker: () => ({ ...policy(), state: () => 'closed', onState: () => {}, callsInWindow: () => undefined }),
  bulkhead: () => ({ ...policy(), running: () => 0, waiting: () => 0 }),
  rateLimit: policy,
  budget: policy,
  fallback: policy,
  wrap: (...policies) => nested(policies),
  refusal: () => undefined,
  isTimeout: () => false,
  isCancelled: () => false,
};
