import { parseArgs } from 'node:util';
import { askAll } from './clients.js';
import { HomeServer } from './home-server.js';

/** An object of 50 bytes kept for each of 80,000 pages would be twice as much. */
const LARGEST_GROWTH_BYTES = 2_000_000;
const BATCHES = 5;
const CLIENTS = 200;

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '100000' }, seconds: { type: 'string', default: '60' } },
});
const wanted = Number(values.requests);
const batchMs = (Number(values.seconds) * 1_000) / BATCHES;

interface Batch {
  readonly requests: number;
  /** What is alive on the server's heap once all have been answered, in bytes. */
  readonly heap: number;
}

/** Pages whose coupons hang, until there are enough or their time is over. */
async function run(server: HomeServer): Promise<Batch> {
  const each = Math.ceil(wanted / BATCHES / CLIENTS);
  const until = performance.now() + batchMs;
  const answers = await askAll(server.page, { clients: CLIENTS, each, spreadMs: 400, until });
  await server.requireNothingInFlight();
  const heap = await server.heap();
  const pages = answers.filter(({ status }) => status === 200).length;
  console.log(
    `${answers.length} requests, ${pages} of them got a page; nothing in flight; ` +
      `alive on the heap: ${(heap / 1e6).toFixed(2)} MB`,
  );

  return { requests: answers.length, heap };
}

const server = await HomeServer.start();
try {
  const batches: Batch[] = [];
  for (let batch = 1; batch <= BATCHES; batch++) batches.push(await run(server));
  const [first, ...later] = batches as [Batch, ...Batch[]];
  const growth = (later.at(-1)?.heap ?? NaN) - first.heap;
  const made = later.reduce((sum, { requests }) => sum + requests, 0);
  const isFlat = growth <= LARGEST_GROWTH_BYTES;
  console.log(
    `${made} requests after the first batch the heap is larger by ${(growth / 1e6).toFixed(2)} MB: ` +
      `${isFlat ? 'flat' : 'NOT flat'}.`,
  );
  if (first.requests + made < wanted) {
    console.log(`${values.seconds} seconds were too short for ${wanted} requests: --seconds gives it more.`);
  }
  if (!isFlat) process.exitCode = 1;
} finally {
  server.stop();
}
