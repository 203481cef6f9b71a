import type { Data, Upstreams } from './upstreams.js';

/**
 * The page as it is written first. It is here to be measured, and wrong in three ways: one part that fails takes the
 * others along, one that hangs holds them back for ten seconds, and nobody tells the services that the client has left.
 */
const LIMIT_MS = 10_000;

export async function naiveHome({ user, order, coupon }: Upstreams): Promise<Readonly<Record<string, Data>>> {
  const [userData, orderData, couponData] = await Promise.all([
    checkedJson(user, LIMIT_MS),
    checkedJson(order, LIMIT_MS),
    checkedJson(coupon, LIMIT_MS),
  ]);

  return { user: userData, order: orderData, coupon: couponData };
}

/** Whatever was answered, an error with its status included. Waits for as long as it takes. */
export async function anyJson(url: string): Promise<Data> {
  const response = await fetch(url);

  return (await response.json()) as Data;
}

/** The same with a look at the status. Without a limit it waits for as long as it takes. */
export async function checkedJson(url: string, limitMs?: number): Promise<Data> {
  const response = await fetch(url, limitMs === undefined ? {} : { signal: AbortSignal.timeout(limitMs) });
  if (!response.ok) throw new Error(`${new URL(url).pathname.slice(1)} 返回 ${response.status}`);

  return (await response.json()) as Data;
}
