import { setTimeout as delay } from 'node:timers/promises';
import { fetchJson } from 'holdfast/fetch';
import { UpstreamStub } from '../stubs/upstream-stub.js';
import type { Row } from './row.js';

const WORK_MS = 300;
const LIMIT_MS = 100;
/** Of the work that is given up, and some more. */
const AFTERWARDS_MS = 400;
/** As many calls as the article has made of this upstream before. */
const CALLS_BEFORE = 3;

/** Row eight, both ways: what an upstream does after its caller has given up. */
export async function measureGivenUpWork(): Promise<Row[]> {
  const [plain, passedOn] = await Promise.all([countAround(false), countAround(true)]);

  return [
    {
      what: 'work done around a call cut at 100 ms',
      article: '3 to 4',
      here: plain,
      condition: 'the work runs on',
      holds: plain === '3 to 4',
    },
    {
      what: 'the same, upstream uses clientGone()',
      article: '-',
      here: passedOn,
      condition: 'the work stops',
      holds: passedOn === '3 to 3',
    },
  ];
}

async function countAround(stopsWithClient: boolean): Promise<string> {
  const stub = await UpstreamStub.start({ name: 'order', delayMs: WORK_MS, body: {}, stopsWithClient });
  const url = `${stub.url}/order`;
  try {
    await Promise.all(Array.from({ length: CALLS_BEFORE }, () => fetchJson(url, {}, '30s')));
    const before = stub.done;
    await fetchJson(url, {}, LIMIT_MS);
    await delay(AFTERWARDS_MS);
    return `${before} to ${stub.done}`;
  } finally {
    await stub.close();
  }
}
