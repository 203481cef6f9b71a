import { endWithParent, endWithShell, type ListeningMessage } from './parent.js';
import { ServerProcess } from './server-process.js';
import { whatToTry } from './what-to-try.js';

const processes: ServerProcess[] = [];
let stopping = false;

function start(script: string, environment?: Readonly<Record<string, string>>): Promise<ListeningMessage> {
  const started = new ServerProcess(new URL(script, import.meta.url), environment);
  processes.push(started);
  // Neither is of use without the other. What went wrong has been written by the process itself.
  void started.ended.then(() => stop(started.stopped ? 0 : 1));
  return started.listening();
}

async function stop(exitCode: number): Promise<void> {
  if (stopping) {
    return;
  }
  stopping = true;
  await Promise.all(processes.map((each) => each.stop()));
  process.exit(exitCode);
}

process.once('SIGINT', () => void stop(0));
process.once('SIGTERM', () => void stop(0));
endWithParent(() => void stop(0));
endWithShell(() => void stop(0));

const { port: carrierPort } = await start('../carrier-stub/main.js');
const carrierUrl = `http://127.0.0.1:${carrierPort}`;
const { port: shopPort, messagePort } = await start('../main.js', {
  CARRIER_URL: carrierUrl,
  TRACKING_URL: carrierUrl,
});

console.log(whatToTry({ shopUrl: `http://localhost:${shopPort}`, carrierUrl, messagePort }));
