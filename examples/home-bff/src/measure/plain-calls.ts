import { setTimeout as delay } from 'node:timers/promises';
import { anyJson, checkedJson } from '../naive-home.js';
import { UpstreamStub } from '../stubs/upstream-stub.js';
import { inMs, type Row, type Tolerance } from './row.js';
import { timed, tookAbout } from './stopwatch.js';

/** Rows one to five: what `fetch` and `Promise.all` do by themselves. */
export async function measurePlainCalls({ slackMs }: Tolerance): Promise<Row[]> {
  const user = await UpstreamStub.start({ name: 'user', delayMs: 120, body: { from: 'user', delay: 120 } });
  const order = await UpstreamStub.start({ name: 'order', delayMs: 300, body: { from: 'order', delay: 300 } });
  const coupon = await UpstreamStub.start({ name: 'coupon', mode: 'hang', body: {} });
  const points = await UpstreamStub.start({ name: 'points', mode: 'fail', body: {} });
  const stubs = [user, order, coupon, points];
  const [userUrl = '', orderUrl = '', couponUrl = '', pointsUrl = ''] = stubs.map(({ name, url }) => `${url}/${name}`);
  try {
    // The first fetch of a process loads what fetch is made of.
    await anyJson(userUrl);
    return [
      await oneAfterTheOther(userUrl, orderUrl, slackMs),
      await sideBySide(userUrl, orderUrl, slackMs),
      await failingUpstream(pointsUrl),
      await oneOfTwoFails(userUrl, pointsUrl),
      await withoutLimit(couponUrl),
    ];
  } finally {
    await Promise.all(stubs.map((stub) => stub.close()));
  }
}

async function oneAfterTheOther(user: string, order: string, slackMs: number): Promise<Row> {
  const { ms } = await timed(async () => [await anyJson(user), await anyJson(order)]);

  return {
    what: 'two calls, one after the other',
    article: '436 ms',
    here: inMs(ms),
    condition: 'about the sum, 420 ms',
    holds: tookAbout(ms, 420, slackMs),
  };
}

async function sideBySide(user: string, order: string, slackMs: number): Promise<Row> {
  const { ms } = await timed(() => Promise.all([anyJson(user), anyJson(order)]));

  return {
    what: 'the same two with Promise.all',
    article: '304 ms',
    here: inMs(ms),
    condition: 'about the slowest, 300 ms',
    holds: tookAbout(ms, 300, slackMs),
  };
}

async function failingUpstream(points: string): Promise<Row> {
  const response = await fetch(points);
  const body = await response.text();

  return {
    what: 'fetch of an answer of 500',
    article: 'resolves, ok false',
    here: `resolves, ok ${response.ok}`,
    condition: 'does not throw; the error reads as data',
    holds: !response.ok && response.status === 500 && body === '{"error":"points 挂了"}',
  };
}

async function oneOfTwoFails(user: string, points: string): Promise<Row> {
  const { value: failure } = await timed(() =>
    Promise.all([checkedJson(user), checkedJson(points)]).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );

  return {
    what: 'Promise.all, and one part fails',
    article: 'points 返回 500',
    here: failure instanceof Error ? failure.message : 'resolves',
    condition: 'rejects; the good part is lost',
    holds: failure instanceof Error && failure.message === 'points 返回 500',
  };
}

async function withoutLimit(coupon: string): Promise<Row> {
  const answered = checkedJson(coupon).then(
    () => true,
    () => true,
  );
  const { ms, value } = await timed(() => Promise.race([answered, delay(1_500, false)]));

  return {
    what: 'a call without a limit, upstream hangs',
    article: 'nothing at 1502 ms',
    here: `${value ? 'an end' : 'nothing'} at ${inMs(ms)}`,
    condition: 'no answer after 1.5 s',
    holds: !value,
  };
}
