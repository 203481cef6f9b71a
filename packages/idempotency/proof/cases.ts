import type { WallClock } from './clock-shift.js';
import type { Fault, StoreName } from './server/server-settings.js';

export const CASES = ['calm', 'kills', 'joined-kills', 'outages', 'joined-outages', 'clocks'] as const;
export type CaseName = (typeof CASES)[number];

/** What one case is to show, and how much of it is enough. */
export interface CasePlan {
  readonly requests: number;
  readonly kills: number;
  /** How often a server stands still for longer than a lock lives. */
  readonly freezes: number;
  /** How often the store does everything that stores do. */
  readonly outages: number;
  /** Of the servers, one after the other; the others go by the right time. */
  readonly clocks: readonly WallClock[];
  readonly joined: boolean;
  /** Milliseconds. */
  readonly lockTtl: number;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

const HOUR = 3_600_000;

const CALM: CasePlan = {
  requests: 800,
  kills: 0,
  freezes: 0,
  outages: 0,
  clocks: [],
  joined: false,
  lockTtl: 2_000,
  storeTimeout: 10_000,
};
const KILLS: CasePlan = { ...CALM, requests: 600, kills: 10, freezes: 2 };
// An outage that is shorter than two thirds of a lock's time takes no lock away.
const OUTAGES: CasePlan = { ...CALM, requests: 300, outages: 1, lockTtl: 6_000, storeTimeout: 1_000 };

const PLANS: Readonly<Record<CaseName, CasePlan>> = {
  calm: CALM,
  kills: KILLS,
  'joined-kills': { ...KILLS, kills: 8, freezes: 2, joined: true },
  outages: OUTAGES,
  'joined-outages': { ...OUTAGES, joined: true },
  clocks: {
    ...KILLS,
    requests: 300,
    kills: 4,
    freezes: 0,
    clocks: [
      { ahead: -3 * HOUR, step: HOUR },
      { ahead: 3 * HOUR, step: -HOUR },
    ],
  },
};

export interface Wanted {
  readonly store: StoreName;
  readonly case: CaseName;
  readonly seed: number;
  /** How many times as much as in the short form. */
  readonly times: number;
  readonly fault?: Fault | undefined;
}

/** Which cases there are for a store: only PostgreSQL takes part in a transaction. */
export function casesOf(store: StoreName): readonly CaseName[] {
  return CASES.filter((name) => store === 'postgres' || !PLANS[name].joined);
}

export function planOf({ store, case: name, times, fault }: Wanted): CasePlan {
  const plan = fault === undefined ? PLANS[name] : lessOf(PLANS[name]);
  // Redis has fewer cases with kills.
  const kills = store === 'redis' && name === 'kills' ? plan.kills + 8 : plan.kills;

  return {
    ...plan,
    requests: plan.requests * times,
    kills: kills * times,
    freezes: plan.freezes * times,
    outages: plan.outages * times,
  };
}

/** A fault shows soon; those about owners where a server stands still. */
function lessOf(plan: CasePlan): CasePlan {
  if (plan.freezes === 0) return plan;

  return { ...plan, requests: plan.requests / 2, kills: 3, freezes: 4 };
}
