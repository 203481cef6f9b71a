import { EventRecorder } from 'holdfast/testing';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hang, json, useHome, warmUp, type HomeOnSockets } from './home-on-sockets.js';

const PATIENCE = { timeout: 10_000 };
const GET = 'GET /api/home HTTP/1.1\r\nhost: home\r\n\r\n';

const start = useHome();
beforeAll(warmUp);

/** A part that reached its limit is told of; one whose client has left is not. */
let events: EventRecorder;
beforeEach(() => (events = new EventRecorder()));
afterEach(() => events.stop());

async function say(home: HomeOnSockets, words: string): Promise<Socket> {
  const socket = connect(Number(new URL(home.url).port), '127.0.0.1');
  await new Promise((resolve) => socket.write(words, resolve));

  return socket;
}

async function allCallsEnded(home: HomeOnSockets): Promise<void> {
  await expect.poll(() => home.nothingInFlight, PATIENCE).toBe(true);
  expect(events.of('degraded')).toEqual([]);
}

/** The page is served as if nothing had been. */
async function expectToServeOn(home: HomeOnSockets): Promise<void> {
  expect(await home.send('/nowhere')).toMatchObject({ status: 404 });
}

describe('a client that leaves', () => {
  it('while no service has answered ends all calls', async () => {
    const home = await start({ user: hang, order: hang, coupon: hang });
    const client = await say(home, GET);
    await expect.poll(() => Object.values(home.inFlight), { interval: 5, ...PATIENCE }).toEqual([1, 1, 1]);
    client.destroy();

    await allCallsEnded(home);
    await expectToServeOn(home);
  });

  it('when two services have answered ends the third call', async () => {
    let isOrderSent = false;
    const order: RequestListener = (request, response) => {
      json({})(request, response);
      response.once('finish', () => (isOrderSent = true));
    };
    const home = await start({ order, coupon: hang });
    const client = await say(home, GET);
    await expect.poll(() => isOrderSent && home.inFlight.coupon === 1, { interval: 5, ...PATIENCE }).toBe(true);
    client.resetAndDestroy();

    await allCallsEnded(home);
    await expectToServeOn(home);
  });

  it('in the middle of a service’s answer ends that', async () => {
    const halfway: RequestListener = (_request, response) => void response.writeHead(200).write('{"count":');
    const home = await start({ coupon: halfway });
    const client = await say(home, GET);
    await expect.poll(() => home.inFlight.coupon, { interval: 5, ...PATIENCE }).toBe(1);
    client.destroy();

    await allCallsEnded(home);
    await expectToServeOn(home);
  });

  it('before it has sent the whole request starts nothing', async () => {
    const home = await start();
    const client = await say(home, GET.slice(0, -2));
    client.destroy();

    await expectToServeOn(home);
    expect(home.asked).toEqual({ user: 0, order: 0, coupon: 0 });
  });

  it('after two requests sent at once ends the calls of both', async () => {
    const home = await start({ user: hang, order: hang, coupon: hang });
    const client = await say(home, GET + GET);
    await expect.poll(() => Object.values(home.inFlight), { interval: 5, ...PATIENCE }).toEqual([2, 2, 2]);
    client.destroy();

    await allCallsEnded(home);
    await expectToServeOn(home);
  });

  it('with its answer leaves nothing behind', async () => {
    const home = await start();
    const client = await say(home, GET);
    await new Promise((resolve) => client.once('data', resolve));
    client.destroy();

    await allCallsEnded(home);
    await expectToServeOn(home);
  });
});
