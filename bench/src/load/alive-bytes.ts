import { setTimeout as delay } from 'node:timers/promises';

/** What is collected once may hold what is collected the next time: weak references, finalizers. */
const COLLECTIONS = 4;

/** What is alive on the heap of this process, in bytes; needs `--expose-gc`. */
export async function aliveBytes(): Promise<number> {
  for (let collection = 1; collection <= COLLECTIONS; collection++) {
    globalThis.gc?.();
    await delay(20);
  }

  return process.memoryUsage().heapUsed;
}
