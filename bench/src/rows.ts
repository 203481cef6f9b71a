import type { Sides } from './sides.js';

/**
 * - `ratio`: our time over the other side's.
 * - `difference`: our time minus the other side's, in microseconds.
 * - `lateness`: how long after the other side ours has its answer, in milliseconds.
 * - `count`: how often one of our calls asks another server.
 * - `memory`: what one of our calls allocates, in kilobytes.
 */
export type Measure = 'ratio' | 'difference' | 'lateness' | 'count' | 'memory';

export interface Target {
  /** For Node 20 and 22. */
  readonly node20: number;
  /** From Node 24 on. */
  readonly node24: number;
}

export interface Row {
  readonly id: string;
  readonly title: string;
  /** What the other side is. */
  readonly against: string;
  readonly measure: Measure;
  /** Whether Node's promise hooks are on: the same on both sides, except in the row that shows their price. */
  readonly hooks: 'off' | 'on' | 'on-in-ours';
  /** Missing where a row only informs. */
  readonly target?: Target;
  /** Whether a call is a request to a server. */
  readonly overSockets?: true;
  /** Loaded in the measured process only, so that no other case leaves traces in it. */
  readonly sides: () => Promise<Sides>;
}

const always = (limit: number): Target => ({ node20: limit, node24: limit });

const overLibraries: readonly Row[] = [
  {
    id: 'retry',
    title: 'retry, no failure',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.7),
    sides: async () => (await import('./cases/retry.js')).retry(),
  },
  {
    id: 'circuit-breaker',
    title: 'circuit breaker, closed',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.7),
    sides: async () => (await import('./cases/circuit-breaker.js')).circuitBreaker(),
  },
  {
    id: 'fallback',
    title: 'fallback, not needed',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.7),
    sides: async () => (await import('./cases/fallback.js')).fallback(),
  },
  {
    id: 'rate-limit',
    title: 'rate limit, not reached',
    against: 'p-queue',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.7),
    sides: async () => (await import('./cases/rate-limit.js')).rateLimit(),
  },
  {
    id: 'bulkhead',
    title: 'bulkhead, free',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.8),
    sides: async () => (await import('./cases/bulkhead.js')).bulkhead(),
  },
];

const overFloors: readonly Row[] = [
  {
    id: 'timeout',
    title: 'timeout, signal not asked for',
    against: 'by hand',
    measure: 'ratio',
    hooks: 'on',
    target: always(1.4),
    sides: async () => (await import('./cases/timeout.js')).timeout(),
  },
  {
    id: 'timeout-signal',
    title: 'timeout, signal asked for',
    against: 'by hand',
    measure: 'ratio',
    hooks: 'on',
    target: always(1.3),
    sides: async () => (await import('./cases/timeout.js')).timeoutWithSignal(),
  },
];

const allStages: readonly Row[] = [
  {
    id: 'five-stages',
    title: 'all five stages',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'on',
    target: always(0.1),
    sides: async () => (await import('./cases/five-stages.js')).fiveStages(),
  },
  {
    id: 'five-stages-memory',
    title: 'all five stages, allocated',
    against: 'cockatiel',
    measure: 'memory',
    hooks: 'on',
    target: { node20: 2.1, node24: 2.5 },
    sides: async () => (await import('./cases/five-stages.js')).fiveStages(),
  },
];

/** Ours over allSettled() by hand: how many sections there are changes nothing about the target. */
const fanOuts: readonly Row[] = [3, 10, 50, 1_000].map((count): Row => ({
  id: `fan-out-${count}`,
  title: `fanOut() of ${count}`,
  against: 'by hand',
  measure: 'ratio',
  hooks: 'on',
  target: always(1.5),
  sides: async () => (await import('./cases/fan-out.js')).fanOutOf(count),
}));

const sections: readonly Row[] = [
  ...fanOuts,
  {
    id: 'fan-out-growth',
    title: 'a section of 1,000',
    against: 'one of 10',
    measure: 'ratio',
    hooks: 'on',
    target: always(1.15),
    sides: async () => (await import('./cases/fan-out.js')).sectionAmongMany(),
  },
];

const reads: readonly Row[] = [
  {
    id: 'deadline-remaining',
    title: '1,000 reads of a deadline',
    against: 'an empty loop',
    measure: 'difference',
    hooks: 'off',
    target: always(50),
    sides: async () => (await import('./cases/reads.js')).deadlineReads(),
  },
  {
    id: 'learned-limit',
    title: '1,000 latencies learned',
    against: 'an empty loop',
    measure: 'difference',
    hooks: 'off',
    target: always(60),
    sides: async () => (await import('./cases/reads.js')).learnedLimits(),
  },
];

const refusals: readonly Row[] = [
  {
    id: 'refusal-open-cockatiel',
    title: 'refusal: open breaker',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('./cases/open-breaker.js')).openBreakerOverCockatiel(),
  },
  {
    id: 'refusal-open-opossum',
    title: 'refusal: open breaker',
    against: 'opossum',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('./cases/open-breaker.js')).openBreakerOverOpossum(),
  },
  {
    id: 'refusal-full-cockatiel',
    title: 'refusal: full bulkhead',
    against: 'cockatiel',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('./cases/full-bulkhead.js')).fullBulkheadOverCockatiel(),
  },
  {
    id: 'refusal-full-opossum',
    title: 'refusal: full bulkhead',
    against: 'opossum',
    measure: 'ratio',
    hooks: 'off',
    target: always(0.3),
    sides: async () => (await import('./cases/full-bulkhead.js')).fullBulkheadOverOpossum(),
  },
];

const nest: readonly Row[] = [
  {
    id: 'nest-undecorated',
    title: 'Nest in process, undecorated',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: always(1),
    sides: async () => (await import('./cases/nest-in-process.js')).undecoratedRoute(),
  },
  {
    id: 'nest-quotes',
    title: 'Nest in process, quotes',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: { node20: 3, node24: 2 },
    sides: async () => (await import('./cases/nest-in-process.js')).quotesRoute(),
  },
  {
    id: 'loopback-quotes',
    title: 'Nest over loopback, quotes',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: { node20: 8, node24: 6 },
    overSockets: true,
    sides: async () => (await import('./cases/nest-loopback.js')).quotesOverLoopback(),
  },
  {
    id: 'promise-hooks',
    title: "tax of Node's promise hooks",
    against: 'hooks off',
    measure: 'difference',
    hooks: 'on-in-ours',
    overSockets: true,
    sides: async () => (await import('./cases/nest-loopback.js')).passThroughOverLoopback(),
  },
];

const idempotency: readonly Row[] = [
  {
    id: 'idempotency-replay',
    title: 'Nest in process, replay from memory',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: always(15),
    sides: async () => (await import('./cases/idempotency.js')).replayFromMemory(),
  },
  {
    id: 'idempotency-over-node-idempotency',
    title: 'the same, over another package',
    against: '@node-idempotency/core',
    measure: 'ratio',
    hooks: 'on',
    sides: async () => (await import('./cases/idempotency.js')).replayOverNodeIdempotency(),
  },
  {
    id: 'idempotency-over-express-idempotency',
    title: 'Nest over loopback, replay from memory',
    against: 'express-idempotency',
    measure: 'ratio',
    hooks: 'on',
    overSockets: true,
    sides: async () => (await import('./cases/idempotency.js')).replayOverExpressIdempotency(),
  },
  {
    id: 'idempotency-statements',
    title: 'first run of a key, statements of PostgreSQL',
    against: 'by hand',
    measure: 'count',
    hooks: 'on',
    target: always(2),
    sides: async () => (await import('./cases/round-trips.js')).statementsOfPostgres(),
  },
  {
    id: 'idempotency-round-trips',
    title: 'first run of a key, round trips to Redis',
    against: 'by hand',
    measure: 'count',
    hooks: 'on',
    target: always(2),
    sides: async () => (await import('./cases/round-trips.js')).roundTripsOfRedis(),
  },
];

const underLoad: readonly Row[] = [
  {
    id: 'home-under-load',
    title: 'page, p99, 200 in flight, one upstream hangs',
    against: 'its deadline',
    measure: 'lateness',
    hooks: 'on',
    target: always(25),
    sides: async () => (await import('./cases/home-under-load.js')).homeUnderLoad(),
  },
  {
    id: 'home-over-by-hand',
    title: 'the same, over the page by hand',
    against: 'by hand',
    measure: 'lateness',
    hooks: 'on',
    sides: async () => (await import('./cases/home-under-load.js')).homeOverByHand(),
  },
  {
    id: 'home-in-lockstep',
    title: 'the same, all 200 at one instant',
    against: 'its deadline',
    measure: 'lateness',
    hooks: 'on',
    sides: async () => (await import('./cases/home-under-load.js')).homeInLockstep(),
  },
];

export const ROWS: readonly Row[] = [
  ...overLibraries,
  ...overFloors,
  ...allStages,
  ...sections,
  ...reads,
  ...refusals,
  ...nest,
  ...idempotency,
  ...underLoad,
];
