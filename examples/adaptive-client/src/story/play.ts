import type { BalancedServers } from '../stubs/balanced-servers.js';
import type { Scene } from './script.js';
import { HEADINGS, milliseconds, SecondsTable, type Stage } from './seconds-table.js';
import { WatchedClient, type CallReport } from './watched-client.js';

/** Calls through all scenes, one call after another. Rejects with the first error that retries could not hide. */
export async function play(script: readonly Scene[], servers: BalancedServers, stage: Stage): Promise<CallReport[][]> {
  const watched = new WatchedClient();
  const scenes: CallReport[][] = [];
  let second = 1;
  for (const scene of script) {
    stage.print(`\n${scenes.length + 1}. ${scene.title}\n   ${scene.watch}`);
    const prepare = (progress: number): void => stageScene(scene, servers, progress);
    const { url } = servers;
    scenes.push(await callFor(scene.seconds, { watched, url, prepare, first: second }, stage));
    second += scene.seconds;
  }

  return scenes;
}

function stageScene(scene: Scene, { first, second }: BalancedServers, progress: number): void {
  first.delayMs = second.delayMs = scene.delayMs(progress);
  second.stuck = scene.secondIsStuck ?? false;
}

export interface Calling {
  readonly watched: WatchedClient;
  readonly url: URL;
  /** Called before each call with what has passed of the time, from 0 to 1. */
  readonly prepare?: (progress: number) => void;
  /** The number of the first second. */
  readonly first: number;
}

/** Calls an address for some seconds, one call after another, and prints each second and a summary. */
export async function callFor(seconds: number, calling: Calling, stage: Stage): Promise<CallReport[]> {
  const { watched, url, prepare, first } = calling;
  const calls: CallReport[] = [];
  const startedAt = performance.now();
  const progress = (): number => (performance.now() - startedAt) / (seconds * stage.secondMs);
  const table = new SecondsTable(first, watched.limitMs, stage);
  stage.print(HEADINGS);
  for (let at = 0; at < 1; at = progress()) {
    prepare?.(at);
    const call = await watched.call(url);
    calls.push(call);
    table.add(call, watched.limitMs);
  }
  table.finish(seconds);
  stage.print(`   ${summaryOf(calls)}`);

  return calls;
}

function summaryOf(calls: readonly CallReport[]): string {
  const cuts = calls.reduce((sum, { cutsMs }) => sum + cutsMs.length, 0);
  const answered = `${calls.length} calls, all answered. Attempts cut: ${cuts}.`;
  const slowest = calls.toSorted((a, b) => b.tookMs - a.tookMs)[0];
  if (slowest === undefined || slowest.cutsMs.length === 0) return answered;

  const cutMs = slowest.cutsMs.reduce((sum, each) => sum + each, 0);
  return (
    `${answered}\n   The slowest took ${milliseconds(slowest.tookMs)}: ${milliseconds(cutMs)} until it was cut, and ` +
    `${milliseconds(slowest.tookMs - cutMs)} for the answer to the attempt after.`
  );
}
