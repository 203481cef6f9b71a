// #region home
import { fanOut, optional, required, type DegradedSection, type PartialResponse } from 'holdfast';
import { fetchJson, requireValue } from 'holdfast/fetch';
import type { Data, Key, Upstreams } from './upstreams.js';

const LIMIT = '400ms';

/** The page: what there is within 400 ms, marked with what is missing. Without the user there is none. */
export function homeFrom({ user, order, coupon }: Upstreams): (signal: AbortSignal) => Promise<HomePage> {
  const sections = {
    user: required(({ signal }) => load(user, signal), { timeout: LIMIT, status: 502 }),
    order: optional(({ signal }) => load(order, signal), { timeout: LIMIT, fallback: null }),
    coupon: optional(({ signal }) => load(coupon, signal), { timeout: LIMIT, fallback: null }),
  };

  return async (signal) => {
    const page = await fanOut(sections, { name: 'home', signal });
    return page.map(({ data, degraded, partial }) => ({ data, degraded: degraded.map(markOf), partial }));
  };
}

async function load(url: string, signal: AbortSignal): Promise<Data> {
  return requireData(requireValue(await fetchJson<unknown>(url, { signal }, LIMIT)));
}
// #endregion

/** `null` where a part is missing; `degraded` says so, since a user without coupons is something else. */
export interface HomeData {
  readonly user: Data;
  readonly order: Data | null;
  readonly coupon: Data | null;
}

export type HomePage = PartialResponse<HomeData, HomeBody>;

export interface HomeBody {
  readonly data: HomeData;
  readonly degraded: readonly Mark[];
  readonly partial: boolean;
}

/** A part that is missing, and why: in a word. What went wrong is for the log, not for whoever asked. */
export interface Mark {
  readonly key: Key;
  readonly reason: MarkReason;
}

export type MarkReason = 'timeout' | 'error';

function markOf({ section, reason }: DegradedSection): Mark {
  return { key: section as Key, reason: markReason(reason) };
}

export function markReason(reason: DegradedSection['reason']): MarkReason {
  return reason === 'upstream_timeout' ? 'timeout' : 'error';
}

/** `null` would look like a part that is missing, and anything else that is no object is no part at all. */
function requireData(value: unknown): Data {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Data;

  throw new TypeError('The answer is JSON, but no object.');
}
