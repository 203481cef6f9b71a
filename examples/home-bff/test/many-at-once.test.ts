import { beforeAll, expect, it } from 'vitest';
import { hang, useHome, warmUp } from './home-on-sockets.js';

const PATIENCE = { timeout: 10_000 };
const REQUESTS = 200;
const LIMIT_MS = 400;

const start = useHome();
beforeAll(warmUp);

it('two hundred clients at once, whose coupons hang, are all answered at the limit, and leave no call behind', async () => {
  const home = await start({ coupon: hang });
  const replies = await Promise.all(
    Array.from({ length: REQUESTS }, async () => {
      const startedAt = performance.now();
      const { status, body } = await home.send('/api/home');
      return { status, body, ms: performance.now() - startedAt };
    }),
  );

  // Two hundred clients and all servers in one process: that also the user comes in time is for a free machine.
  for (const { status, body, ms } of replies) {
    expect([200, 502]).toContain(status);
    expect(body).toContain(status === 200 ? '{"key":"coupon","reason":"timeout"}' : '"key":"user","reason":"timeout"');
    expect(ms).toBeGreaterThanOrEqual(LIMIT_MS - 1);
  }
  expect(home.asked.coupon).toBe(REQUESTS);
  await expect.poll(() => home.nothingInFlight, PATIENCE).toBe(true);
}, 60_000);
