import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { homeFrom } from './home.js';

const UPSTREAMS = { user: 'http://user/user', order: 'http://order/order', coupon: 'http://coupon/coupon' };
const never = new AbortController().signal;

/** Each service by the time that it takes; what is not there never answers. */
function services(delays: Readonly<Record<string, number>>): void {
  vi.stubGlobal('fetch', (url: string, { signal }: RequestInit) => {
    const name = new URL(url).host;
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
      if (name in delays) setTimeout(() => resolve(Response.json({ from: name })), delays[name]);
    });
  });
}

async function settled(page: Promise<unknown>): Promise<unknown> {
  await vi.advanceTimersByTimeAsync(0);

  return Promise.race([page, Promise.resolve('pending')]);
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('the page', () => {
  it('has every part that comes right before 400 ms', async () => {
    services({ user: 120, order: 300, coupon: 399 });
    const page = homeFrom(UPSTREAMS)(never);
    await vi.advanceTimersByTimeAsync(399);

    expect(JSON.stringify(await page)).toBe(
      '{"data":{"user":{"from":"user"},"order":{"from":"order"},"coupon":{"from":"coupon"}},' +
        '"degraded":[],"partial":false}',
    );
  });

  it('is there after 400 ms without the part that is not, and says why', async () => {
    services({ user: 120, order: 300 });
    const page = homeFrom(UPSTREAMS)(never);
    await vi.advanceTimersByTimeAsync(399);
    expect(await settled(page)).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);

    expect(JSON.stringify(await settled(page))).toBe(
      '{"data":{"user":{"from":"user"},"order":{"from":"order"},"coupon":null},' +
        '"degraded":[{"key":"coupon","reason":"timeout"}],"partial":true}',
    );
  });

  it('fails when the user is not there after 400 ms', async () => {
    services({ order: 300, coupon: 10 });
    const failure = homeFrom(UPSTREAMS)(never).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(399);
    expect(await settled(failure)).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);

    expect(await settled(failure)).toMatchObject({
      code: 'SECTION_FAILED',
      section: 'user',
      reason: 'upstream_timeout',
      status: 502,
    });
  });

  it('ends at once when its signal aborts', async () => {
    services({});
    const client = new AbortController();
    const failure = homeFrom(UPSTREAMS)(client.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    client.abort(new Error('left'));

    expect(await settled(failure)).toMatchObject({ message: 'left' });
  });

  it('is made from one declaration for two hundred clients at once, and each gets what there is', async () => {
    services({ user: 120, order: 300 });
    const home = homeFrom(UPSTREAMS);
    const pages = Promise.all(Array.from({ length: 200 }, () => home(never)));
    await vi.advanceTimersByTimeAsync(400);
    const bodies = new Set((await pages).map((page) => JSON.stringify(page)));

    expect([...bodies]).toEqual([
      '{"data":{"user":{"from":"user"},"order":{"from":"order"},"coupon":null},' +
        '"degraded":[{"key":"coupon","reason":"timeout"}],"partial":true}',
    ]);
  });
});
