import { askAll, askSteadily, type Answered, type Load, type Pace } from '../load/clients.js';
import { HomeServer } from '../load/home-server.js';
import type { Sides } from '../sides.js';
import { percentile } from '../statistics.js';

/** What each part of the page has. */
const DEADLINE_MS = 400;
const CLIENTS = 200;
/** A server that compiles is not what is measured: until about so many pages each takes more of its time than later. */
const WARM_UP: Load = { clients: 100, each: 20, spreadMs: DEADLINE_MS };
/** Whoever comes waits for the deadline, so that at this pace two hundred wait at any time. */
const STEADILY: Pace = { requests: 1_000 + CLIENTS, everyMs: DEADLINE_MS / CLIENTS, ramp: CLIENTS };
/** All at one instant, again and again: then also all of their deadlines come at one instant. */
const TOGETHER: Load = { clients: CLIENTS, each: 3, spreadMs: 0 };

type Ask = (url: string) => Promise<readonly Answered[]>;

/**
 * Clients of the home page whose coupons hang, two hundred of them at any time: the 99th percentile of what a page takes,
 * beside the deadline. Bare is the same for a page that is not there.
 */
export function homeUnderLoad(): Promise<Sides> {
  return homeAskedBy((url) => askSteadily(url, STEADILY));
}

/** The same with two hundred clients in lockstep: how long a server takes to answer two hundred at once. */
export function homeInLockstep(): Promise<Sides> {
  return homeAskedBy((url) => askAll(url, TOGETHER));
}

/**
 * The page under load over the same one by hand, asked at the same pace in turn: what is late in both is the machine's and
 * the platform's.
 */
export async function homeOverByHand(): Promise<Sides> {
  const ours = await warmedUp(HomeServer.start());
  const byHand = await warmedUp(HomeServer.startByHand());
  const steadily: Ask = (url) => askSteadily(url, STEADILY);

  return {
    ours: () => p99OfPages(ours, steadily),
    other: () => p99OfPages(byHand, steadily),
    bare: async () => p99(await steadily(ours.nowhere)),
    gives: 'value',
  };
}

async function homeAskedBy(ask: Ask): Promise<Sides> {
  const server = await warmedUp(HomeServer.start());

  return {
    ours: () => p99OfPages(server, ask),
    other: async () => DEADLINE_MS,
    bare: async () => p99(await ask(server.nowhere)),
    gives: 'value',
  };
}

async function warmedUp(starting: Promise<HomeServer>): Promise<HomeServer> {
  const server = await starting;
  await askAll(server.page, WARM_UP);

  return server;
}

async function p99OfPages(server: HomeServer, ask: Ask): Promise<number> {
  const answers = await ask(server.page);
  requirePages(answers);
  await server.requireNothingInFlight();

  return p99(answers);
}

function p99(answers: readonly Answered[]): number {
  return percentile(
    answers.map(({ ms }) => ms),
    99,
  );
}

/** @throws when the machine is so busy that also the user, who is there after 120 ms, comes too late for a page. */
function requirePages(answers: readonly Answered[]): void {
  const other = answers.filter(
    ({ status, body }) => status !== 200 || !body.includes('{"key":"coupon","reason":"timeout"}'),
  );
  if (other.length === 0) return;

  const [{ status, body }] = other as [Answered];
  throw new Error(`${other.length} of ${answers.length} answers are no page, such as: ${status} ${body}`);
}
