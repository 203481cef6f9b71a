import { fetchJson, type FetchOutcome } from 'holdfast/fetch';
import type { HomeBody } from '../home.js';
import { startHomeService } from '../launch/home-service.js';
import { inMs, type Row, type Tolerance } from './row.js';
import { timed, tookAbout, type Timed } from './stopwatch.js';

const PATIENCE = '3s';

/** Rows six and seven: the two pages of one service, with coupons that hang. */
export async function measureHomePages({ slackMs }: Tolerance): Promise<Row[]> {
  const service = await startHomeService({ port: 0, origins: {} });
  try {
    const naive = await fetchJson(`${service.url}/api/home-naive`, {}, PATIENCE);
    const home = await timed(() => fetchJson<HomeBody>(`${service.url}/api/home`, {}, PATIENCE));
    return [naiveRow(naive), homeRow(home, slackMs)];
  } finally {
    await service.close();
  }
}

function naiveRow(outcome: FetchOutcome<unknown>): Row {
  // Without a status not even the head of an answer has come.
  const silent = !outcome.ok && outcome.reason === 'upstream_timeout' && outcome.status === undefined;

  return {
    what: '/api/home-naive, coupon hangs',
    article: 'silent at 3 s',
    here: `${silent ? 'silent' : 'an end'} at ${inMs(outcome.ms)}`,
    condition: 'not a byte within 3 s',
    holds: silent,
  };
}

function homeRow({ ms, value: outcome }: Timed<FetchOutcome<HomeBody>>, slackMs: number): Row {
  const { data, degraded } = outcome.ok ? outcome.value : { data: {}, degraded: [] };
  const there = Object.values(data).filter((part) => part !== null).length;
  const marks = degraded.map(({ key, reason }) => `${key} ${reason}`).join(', ');

  return {
    what: '/api/home, coupon hangs',
    article: '404 ms, 2 of 3, coupon timeout',
    here: `${inMs(ms)}, ${there} of 3, ${marks}`,
    condition: 'about the limit, 400 ms; two of three',
    holds: tookAbout(ms, 400, slackMs) && there === 2 && marks === 'coupon timeout',
  };
}
