import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Failure, Range } from './campaign.js';
import type { Counts } from './coverage.js';
import type { InvariantId } from './invariants.js';

/** How far a player is. */
interface Progress {
  readonly played: number;
  readonly heapBytes: number;
}

/** All that a player has found. */
interface Result {
  readonly counts: Counts;
  readonly failure?: Failure | undefined;
}

export type Heard = Progress | Result;

/** Built, also for those who read the sources. */
const PLAYER = fileURLToPath(new URL('../../dist/random/player.js', import.meta.url));
/** Errors are made by the million, and nobody reads where; a fourth of the pace. */
const FLAGS = ['--stack-trace-limit=0', '--max-semi-space-size=64'];

export interface Shared {
  readonly range: Range;
  readonly processes: number;
  /** Whose planted fault the engine has, for tests; the right engine otherwise. */
  readonly fault?: InvariantId | undefined;
}

/** Parts of one range, as equal as they can be, in the order of their seeds. */
export function partsOf({ seed, executions }: Range, parts: number): readonly Range[] {
  const startOf = (part: number): number => Math.floor((executions * part) / parts);

  return Array.from({ length: parts }, (_, part) => ({
    seed: seed + startOf(part),
    executions: startOf(part + 1) - startOf(part),
  }));
}

/**
 * Plays the executions of a range in several processes. The first failure that one of them finds ends the others, and
 * is all that is told then.
 *
 * @param onProgress Is told how many have been played, and the largest heap of a process in bytes.
 * @throws Error when a process ends without a result.
 */
export async function playSideBySide(
  { range, processes, fault }: Shared,
  onProgress: (played: number, heapBytes: number) => void,
): Promise<readonly Result[]> {
  const players = partsOf(range, processes).map((part) =>
    fork(PLAYER, [JSON.stringify(part), ...(fault === undefined ? [] : [fault])], { execArgv: FLAGS }),
  );
  const progress = new Map<ChildProcess, Progress>();
  const stop = (): void => players.forEach((player) => void player.kill());
  const listen = (player: ChildProcess) => (told: Progress) => {
    progress.set(player, told);
    const all = [...progress.values()];
    const played = all.reduce((sum, one) => sum + one.played, 0);
    onProgress(played, Math.max(...all.map(({ heapBytes }) => heapBytes)));
  };
  try {
    return await firstFailureOrAll(players.map((player) => resultOf(player, listen(player))));
  } finally {
    stop();
  }
}

/** The result with a failure alone as soon as there is one, all results otherwise. */
function firstFailureOrAll(results: readonly Promise<Result>[]): Promise<readonly Result[]> {
  return new Promise((resolve, reject) => {
    for (const result of results) {
      result.then((one) => one.failure !== undefined && resolve([one]), reject);
    }
    Promise.all(results).then(resolve, reject);
  });
}

function resultOf(player: ChildProcess, onProgress: (told: Progress) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    player.on('message', (heard: Heard) => {
      if ('counts' in heard) resolve(heard);
      else onProgress(heard);
    });
    player.on('error', reject);
    player.on('exit', (code, signal) =>
      reject(new Error(`A process that plays executions ended without a result, with ${signal ?? code}.`)),
    );
  });
}
