import { explainPort, readSettings, SettingError, type Settings } from './settings.js';
import { explain } from './story/explain.js';
import { callFor, play } from './story/play.js';
import { SCRIPT } from './story/script.js';
import type { Stage } from './story/seconds-table.js';
import { meetSilence } from './story/silence.js';
import { WatchedClient } from './story/watched-client.js';
import { startBalancedServers } from './stubs/balanced-servers.js';

const UPSTREAM_SECONDS = 10;

/** Plays the story, or calls the server that the environment names. @returns The exit code. */
export async function run(environment: NodeJS.ProcessEnv, stage: Stage): Promise<number> {
  try {
    const settings = readSettings(environment);
    await (settings.upstream === undefined ? tellStory(settings, stage) : callUpstream(settings.upstream, stage));
    return 0;
  } catch (error) {
    const isSetting = error instanceof SettingError;
    stage.print(isSetting ? error.message : `\nNo attempt is left. The last one failed: ${explain(error)}`);
    return 1;
  }
}

async function tellStory({ port }: Settings, stage: Stage): Promise<void> {
  const servers = await startBalancedServers(port).catch((error: unknown) => {
    throw explainPort(error, port);
  });
  try {
    stage.print(`Two servers behind a proxy on ${servers.url.origin}, which asks them in turn. One client makes one`);
    stage.print('call after another, up to four attempts each, under a limit that it learns: 500 ms at most.');
    await play(SCRIPT, servers, stage);
    await meetSilence(SCRIPT.length + 1, stage.print);
  } finally {
    await servers.close();
  }
}

async function callUpstream(url: URL, stage: Stage): Promise<void> {
  stage.print(`Calls ${url.href} for ${UPSTREAM_SECONDS} seconds, one call after another, up to four attempts each.\n`);
  await callFor(UPSTREAM_SECONDS, { watched: new WatchedClient(), url, first: 1 }, stage);
}
