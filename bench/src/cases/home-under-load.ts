import { askAll, type Answered, type Load } from '../load/clients.js';
import { HomeServer } from '../load/home-server.js';
import type { Sides } from '../sides.js';
import { percentile } from '../statistics.js';

/** What each part of the page has. */
const DEADLINE_MS = 400;
/** A server that has compiled nothing yet is not what is measured. */
const WARM_UP: Load = { clients: 50, each: 6, spreadMs: DEADLINE_MS };
const LOAD: Load = { clients: 200, each: 1, spreadMs: DEADLINE_MS };

/**
 * Two hundred clients of the home page whose coupons hang: the 99th percentile of what a page takes, beside the
 * deadline. Bare is the same for a page that is not there.
 */
export async function homeUnderLoad(): Promise<Sides> {
  const server = await HomeServer.start();
  await askAll(server.page, WARM_UP);
  const p99 = (answers: readonly Answered[]): number =>
    percentile(
      answers.map(({ ms }) => ms),
      99,
    );

  return {
    ours: async () => {
      const answers = await askAll(server.page, LOAD);
      requirePages(answers);
      await server.requireNothingInFlight();
      return p99(answers);
    },
    other: async () => DEADLINE_MS,
    bare: async () => p99(await askAll(server.nowhere, LOAD)),
    gives: 'value',
  };
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
