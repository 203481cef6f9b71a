import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Call } from './sides.js';

/**
 * Nanoseconds of processor time per call over `calls` calls, one after the other. Processor time and not that of the
 * clock: on a machine that others use too, the clock says above all how often this process had to wait for its turn.
 */
export async function timeCalls(call: Call, calls: number): Promise<number> {
  const startedAt = process.cpuUsage();
  for (let i = 0; i < calls; i++) await call();

  return spentSince(startedAt) / calls;
}

function spentSince(startedAt: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(startedAt);

  return (user + system) * 1_000;
}

/** Node keeps a list of rejected promises until the end of a turn; a service does not refuse thousands in one. */
const REFUSALS_PER_TURN = 100;

/** Nanoseconds per refused call; a call that is let through spoils the measurement and fails it. */
export async function timeRefusals(call: Call, calls: number): Promise<number> {
  let refused = 0;
  const startedAt = process.cpuUsage();
  for (let i = 0; i < calls; i++) {
    try {
      await call();
    } catch {
      refused++;
    }
    if (i % REFUSALS_PER_TURN === 0) await nextTurn();
  }
  const elapsed = spentSince(startedAt);
  if (refused !== calls) throw new Error(`${calls - refused} of ${calls} calls were not refused`);

  return elapsed / calls;
}

/**
 * Bytes allocated per call. The process runs with a young generation that holds many slices, so the heap only grows;
 * the rare slice in which it was collected comes out small or negative, and the median leaves it out.
 */
export async function bytesOfCalls(call: Call, calls: number): Promise<number> {
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < calls; i++) await call();

  return (process.memoryUsage().heapUsed - before) / calls;
}
