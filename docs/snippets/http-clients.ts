const flagsUrl = (): string => `${process.env.FLAGS_URL}/v1/evaluate`;
const ordersUrl = (): string => `${process.env.ORDERS_URL}/orders`;

export type Flags = Readonly<Record<string, boolean>>;

// #region fetch-json
import { fetchJson } from 'holdfast/fetch';

/** Without its flags a page is as it was before there were any. */
export async function getFlags(signal: AbortSignal): Promise<Flags> {
  const flags = await fetchJson<Flags>(flagsUrl(), { signal }, '250ms');

  return flags.ok ? flags.value : {};
}
// #endregion

// #region require-value
import { createPolicy } from 'holdfast';
import { requireValue } from 'holdfast/fetch';

const flagService = createPolicy({ retry: 2, circuitBreaker: { minimumCalls: 5 } }, 'flags');

export function getFlagsOrFail(): Promise<Flags> {
  return flagService.execute(async () => requireValue(await fetchJson<Flags>(flagsUrl(), {}, '250ms')));
}
// #endregion

// #region deadline
import { Deadline } from 'holdfast';
import { reportTimeout } from 'holdfast/fetch';

/** What the page itself needs of its time. */
const RESERVE = '800ms';

export async function getFlagsWithin(deadline: Deadline): Promise<Flags> {
  const flags = await fetchJson<Flags>(flagsUrl(), {}, deadline.allow('250ms', RESERVE));
  if (flags.ok) return flags.value;

  const { reason, ms: waitedMs } = flags;
  reportTimeout({ step: 'flags', reason, waitedMs, budgetLeftMs: deadline.remaining(), policy: 'open' });
  return {};
}
// #endregion

// #region body-right
const repeatable = createPolicy({ retry: { attempts: 2, backoff: { delay: '10ms' } } }, 'orders');

export function putOrder(key: string, lines: () => ReadableStream): Promise<unknown> {
  return repeatable.execute(async () => {
    const init = { method: 'PUT', headers: { 'idempotency-key': key }, body: lines(), duplex: 'half' };
    return requireValue(await fetchJson(ordersUrl(), init as RequestInit, '20s'));
  });
}
// #endregion

// #region body-wrong
export function putOrderOnce(key: string, lines: () => ReadableStream): Promise<unknown> {
  const init = { method: 'PUT', headers: { 'idempotency-key': key }, body: lines(), duplex: 'half' };

  return repeatable.execute(async () => requireValue(await fetchJson(ordersUrl(), init as RequestInit, '20s')));
}
// #endregion

type BuildReport = (signal: AbortSignal) => Promise<object>;

// #region client-gone
import { createServer, type Server } from 'node:http';
import { clientGone } from 'holdfast';

export function serveReports(buildReport: BuildReport): Server {
  return createServer((request, response) => {
    const signal = clientGone(request, response);
    buildReport(signal).then(
      (report) => response.end(JSON.stringify(report)),
      () => response.writeHead(500).end(), // reaches nobody when the client has gone
    );
  });
}
// #endregion
