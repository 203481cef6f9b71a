/** What the application is set up with, for itself and for whoever judges it. Milliseconds, and requests per second. */

export interface RouteSettings {
  readonly method: 'GET' | 'POST';
  readonly budgetMs: number;
  readonly perSecond: number;
}

export const ROUTES = {
  /** Repeated once, and with a queue. */
  quotes: { method: 'GET', budgetMs: 400, perSecond: 80 },
  /** With a rate limit and a fallback. */
  prices: { method: 'GET', budgetMs: 300, perSecond: 30 },
  /** Three sections: one required, one under the policies of its dependency. */
  page: { method: 'GET', budgetMs: 300, perSecond: 25 },
  /** Not repeated, and bounded by nothing but its budget. */
  orders: { method: 'POST', budgetMs: 250, perSecond: 25 },
  /** Its handler does not listen to its signal. */
  reports: { method: 'GET', budgetMs: 200, perSecond: 10 },
} as const satisfies Readonly<Record<string, RouteSettings>>;

export type RouteName = keyof typeof ROUTES;

export const ROUTE_NAMES = Object.keys(ROUTES) as readonly RouteName[];

/** Which call of the dependency this is. */
export type CallName = 'quotes' | 'prices' | 'product' | 'reviews' | 'similar' | 'orders' | 'reports';

/** Of an attempt at a route or a section. The route of orders has none. */
export const TIMEOUT_MS = 150;

/** Of the reviews, within their section. */
export const REVIEWS_TIMEOUT_MS = 100;

export interface BreakerSettings {
  readonly minimumCalls: number;
  readonly failureRateThreshold: number;
  readonly slidingWindow: { readonly type: 'count'; readonly size: number };
  readonly openDuration: number;
  readonly halfOpenMaxCalls: number;
}

const BREAKER: BreakerSettings = {
  minimumCalls: 10,
  failureRateThreshold: 50,
  slidingWindow: { type: 'count', size: 100 },
  openDuration: 500,
  halfOpenMaxCalls: 4,
};

/** By name, each of which is also that of the calls under it. */
export const BREAKERS = {
  quotes: BREAKER,
  prices: { ...BREAKER, openDuration: 700 },
  reviews: { ...BREAKER, halfOpenMaxCalls: 3 },
  orders: { ...BREAKER, halfOpenMaxCalls: 1 },
} as const satisfies Readonly<Partial<Record<CallName, BreakerSettings>>>;

export type BreakerName = keyof typeof BREAKERS;

export const BREAKER_NAMES = Object.keys(BREAKERS) as readonly BreakerName[];

export interface BulkheadSettings {
  readonly maxConcurrent: number;
  readonly maxQueue: number;
  readonly queueTimeout: number;
}

/** As breakers. What waits for a slot leaves in time for its attempt to count: half of the timeout is the work's. */
export const BULKHEADS = {
  quotes: { maxConcurrent: 8, maxQueue: 6, queueTimeout: 50 },
  reviews: { maxConcurrent: 3, maxQueue: 0, queueTimeout: 0 },
  orders: { maxConcurrent: 5, maxQueue: 0, queueTimeout: 0 },
  reports: { maxConcurrent: 10, maxQueue: 0, queueTimeout: 0 },
} as const satisfies Readonly<Partial<Record<CallName, BulkheadSettings>>>;

export type BulkheadName = keyof typeof BULKHEADS;

export const BULKHEAD_NAMES = Object.keys(BULKHEADS) as readonly BulkheadName[];

/** Of the prices. */
export const RATE_LIMIT = { limit: 20, interval: 1_000, maxWait: 50 } as const;
