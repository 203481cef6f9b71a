import { setTimeout as delay } from 'node:timers/promises';

/** Loaded into the server before anything else: says how much is alive when its parent asks. Ends with the parent. */

/** What is collected once may hold what is collected the next time: weak references, finalizers. */
const COLLECTIONS = 4;

async function aliveBytes(): Promise<number> {
  for (let collection = 1; collection <= COLLECTIONS; collection++) {
    globalThis.gc?.();
    await delay(20);
  }

  return process.memoryUsage().heapUsed;
}

process.on('message', () => void aliveBytes().then((bytes) => process.send?.(bytes)));
process.on('disconnect', () => process.exit());
