import { readOrExit } from '../../../tools/command-line/command-line.mjs';
import { askAll } from './clients.js';
import { readCommandLine } from './command-line.js';
import { HomeServer } from './home-server.js';

/** 33 bytes for each of 60,000 pages: less than the smallest object. */
const LARGEST_GROWTH_BYTES = 2_000_000;
const BATCHES = 5;
const CLIENTS = 200;

const { requests: wanted, seconds } = readOrExit(readCommandLine);
const batchMs = (seconds * 1_000) / BATCHES;

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
  // The first batch is for what a server makes once: code, connections, caches.
  const [, warm, ...later] = batches as [Batch, Batch, ...Batch[]];
  const growth = (later.at(-1)?.heap ?? NaN) - warm.heap;
  const made = batches.reduce((sum, { requests }) => sum + requests, 0);
  const isFlat = growth <= LARGEST_GROWTH_BYTES;
  console.log(`${made} requests; since the second batch the heap has grown by ${(growth / 1e6).toFixed(2)} MB.`);
  if (made < wanted) {
    console.log(`No verdict: ${seconds} seconds were too short for ${wanted} requests. --seconds gives it more.`);
  } else {
    console.log(isFlat ? 'Flat.' : 'NOT flat.');
  }
  if (made < wanted || !isFlat) process.exitCode = 1;
} finally {
  server.stop();
}
