import { close, listen } from '../stubs/listening.js';
import { SilentListener } from '../stubs/silent-listener.js';
import { explain } from './explain.js';
import { milliseconds } from './seconds-table.js';
import { WatchedClient } from './watched-client.js';

/** A call over http and one over https to somebody who accepts connections and never speaks. */
export async function meetSilence(number: number, print: (line: string) => void): Promise<void> {
  print(`\n${number}. A listener accepts connections and never says a word, over http and over https.`);
  print('   Each attempt is cut at the limit and its socket closed. After the last one the caller has the real error.');
  for (const protocol of ['http:', 'https:']) print(await callSilence(protocol));
}

async function callSilence(protocol: string): Promise<string> {
  const silent = new SilentListener();
  const url = await listen(silent.server);
  url.protocol = protocol;
  // Another dependency, so another limit; it has seen nothing yet.
  const watched = new WatchedClient();
  const outcome = await watched.call(url).then(() => 'answered', explain);
  await silent.deserted();
  const { opened, closed } = silent.sockets;
  await close(silent.server, () => silent.hangUp());
  const cuts = watched.cutsMs.map(milliseconds).join(', ');

  return `   ${protocol.padEnd(6)} cut at ${cuts}; sockets opened: ${opened}, closed by us: ${closed}. ${outcome}`;
}
