import type { LibraryName } from '../libraries/libraries.js';
import type { Feature } from '../libraries/library.js';
import { always, type Measure, type Row, type Target } from '../row.js';

const TITLES: Readonly<Record<Feature, string>> = {
  retry: 'retry, no failure',
  timeout: 'timeout, signal not asked for',
  'circuit-breaker': 'circuit breaker, closed',
  bulkhead: 'bulkhead, free',
  'rate-limit': 'rate limit, not reached',
  fallback: 'fallback, not needed',
  'five-stages': 'all five stages',
};

/** Policies that open an ambient attempt turn hooks on, and so do some libraries when they are loaded or called. */
const HOOKED: ReadonlySet<string> = new Set(['timeout', 'five-stages', 'nestjs-resilience', 'effect', 'undici']);

function hooksOf(feature: Feature, library: string): 'on' | 'off' {
  return HOOKED.has(feature) || HOOKED.has(library) ? 'on' : 'off';
}

/** The comparison in which a policy has its target. */
function targeted(feature: Feature, library: LibraryName, target: Target): Row {
  return {
    id: feature,
    title: TITLES[feature],
    against: library,
    measure: 'ratio',
    hooks: hooksOf(feature, library),
    target,
    sides: async () => (await import('../cases/policies.js')).policyOver(library, feature),
  };
}

const overLibraries: readonly Row[] = [
  targeted('retry', 'cockatiel', always(0.7)),
  targeted('circuit-breaker', 'cockatiel', always(0.7)),
  targeted('fallback', 'cockatiel', always(0.7)),
  targeted('rate-limit', 'p-queue', always(0.7)),
  targeted('bulkhead', 'cockatiel', always(0.8)),
  targeted('five-stages', 'cockatiel', always(0.1)),
];

/** Against whom a policy is compared as well: whoever has one. */
const OTHERS: Readonly<Record<Feature, readonly LibraryName[]>> = {
  retry: ['p-retry', 'nestjs-resilience', 'effect'],
  timeout: ['cockatiel', 'opossum', 'p-timeout', 'nestjs-resilience', 'effect'],
  'circuit-breaker': ['opossum', 'nestjs-resilience', 'effect'],
  bulkhead: ['opossum', 'p-queue', 'nestjs-resilience', 'effect'],
  'rate-limit': ['effect'],
  fallback: ['opossum', 'nestjs-resilience', 'effect'],
  'five-stages': ['nestjs-resilience', 'effect'],
};

const overOthers: readonly Row[] = (Object.entries(OTHERS) as [Feature, readonly LibraryName[]][]).flatMap(
  ([feature, libraries]) =>
    libraries.map((library): Row => ({
      id: `${feature}-over-${library}`,
      title: TITLES[feature],
      against: library,
      measure: 'ratio',
      hooks: hooksOf(feature, library),
      brief: true,
      sides: async () => (await import('../cases/policies.js')).policyOver(library, feature),
    })),
);

const requests: Row = {
  id: 'retry-over-undici',
  title: 'request under a retry, no failure',
  against: 'undici',
  measure: 'ratio',
  hooks: hooksOf('retry', 'undici'),
  brief: true,
  sides: async () => (await import('../cases/request-retry.js')).retryOfRequests(),
};

const overFloors: readonly Row[] = [
  {
    id: 'timeout',
    title: TITLES.timeout,
    against: 'by hand',
    measure: 'ratio',
    hooks: 'on',
    target: always(1.4),
    sides: async () => (await import('../cases/timeout.js')).timeout(),
  },
  {
    id: 'timeout-signal',
    title: 'timeout, signal asked for',
    against: 'by hand',
    measure: 'ratio',
    hooks: 'on',
    target: always(1.3),
    sides: async () => (await import('../cases/timeout.js')).timeoutWithSignal(),
  },
];

/** What a call under each policy allocates; the other side is a call under none. */
const allocated: readonly Row[] = (Object.keys(TITLES) as Feature[])
  .filter((feature) => feature !== 'five-stages')
  .map((feature): Row => ({
    id: `${feature}-memory`,
    title: `${TITLES[feature]}, allocated`,
    against: 'no policy',
    measure: 'memory',
    hooks: hooksOf(feature, 'none'),
    brief: true,
    sides: async () => (await import('../cases/policies.js')).policyOverNone(feature),
  }));

const allStages: Row = {
  id: 'five-stages-memory',
  title: 'all five stages, allocated',
  against: 'cockatiel',
  measure: 'memory',
  hooks: 'on',
  target: { node20: 2.1, node24: 2.5 },
  sides: async () => (await import('../cases/policies.js')).policyOver('cockatiel', 'five-stages'),
};

const reads: readonly Row[] = [
  {
    id: 'deadline-remaining',
    title: '1,000 reads of a deadline',
    against: 'an empty loop',
    measure: 'difference',
    hooks: 'off',
    target: always(50),
    sides: async () => (await import('../cases/reads.js')).deadlineReads(),
  },
  {
    id: 'learned-limit',
    title: '1,000 latencies learned',
    against: 'an empty loop',
    measure: 'difference',
    hooks: 'off',
    target: always(60),
    sides: async () => (await import('../cases/reads.js')).learnedLimits(),
  },
];

/** What is kept alive, in bytes of each. */
const held: readonly Row[] = [
  {
    ...heldRow('held-waiter', 'a call in the queue of a bulkhead', 'cockatiel'),
    sides: async () => (await import('../cases/held.js')).heldByWaiter(),
  },
  {
    ...heldRow('held-pending', 'a pending call under a timeout, signal asked for', 'by hand'),
    hooks: 'on',
    sides: async () => (await import('../cases/held.js')).heldByPending(),
  },
  {
    ...heldRow('held-breaker', 'a circuit breaker', 'cockatiel'),
    sides: async () => (await import('../cases/held.js')).heldByBreakerOverCockatiel(),
  },
  {
    ...heldRow('held-breaker-over-opossum', 'a circuit breaker', 'opossum'),
    sides: async () => (await import('../cases/held.js')).heldByBreakerOverOpossum(),
  },
  {
    ...heldRow('held-window', 'a breaker with a full window of 100,000 calls', 'cockatiel'),
    sides: async () => (await import('../cases/held.js')).heldByWindow(),
  },
];

function heldRow(id: string, title: string, against: string): Omit<Row, 'sides'> & { readonly measure: Measure } {
  return { id, title, against, measure: 'held', hooks: 'off' };
}

const refusals: readonly Row[] = [
  {
    id: 'refusal-open-cockatiel',
    title: 'refusal: open breaker',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('../cases/open-breaker.js')).openBreakerOverCockatiel(),
  },
  {
    id: 'refusal-open-opossum',
    title: 'refusal: open breaker',
    against: 'opossum',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('../cases/open-breaker.js')).openBreakerOverOpossum(),
  },
  {
    id: 'refusal-full-cockatiel',
    title: 'refusal: full bulkhead',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('../cases/full-bulkhead.js')).fullBulkheadOverCockatiel(),
  },
  {
    id: 'refusal-full-opossum',
    title: 'refusal: full bulkhead',
    against: 'opossum',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('../cases/full-bulkhead.js')).fullBulkheadOverOpossum(),
  },
];

export const POLICY_ROWS: readonly Row[] = [...overLibraries, ...overFloors, ...reads];
export const REFUSAL_ROWS: readonly Row[] = refusals;
export const LIBRARY_ROWS: readonly Row[] = [...overOthers, requests];
export const MEMORY_ROWS: readonly Row[] = [allStages, ...allocated, ...held];
