import { endWithParent, endWithShell, type ListeningMessage, type RestartMessage } from './parent.js';
import { ServerProcess } from './server-process.js';
import { whatToTry } from './what-to-try.js';

const processes = new Set<ServerProcess>();
let stopping = false;

async function start(
  script: string,
  environment?: Readonly<Record<string, string>>,
): Promise<{ readonly server: ServerProcess; readonly listening: ListeningMessage }> {
  const server = new ServerProcess(new URL(script, import.meta.url), environment);
  processes.add(server);
  // Neither is of use without the other. What went wrong has been written by the process itself.
  void server.ended.then(async () => {
    if (processes.has(server)) await stop(server.stopped ? 0 : 1);
  });
  return { server, listening: await server.listening() };
}

async function stop(exitCode: number): Promise<void> {
  if (stopping) {
    return;
  }
  stopping = true;
  await Promise.all(Array.from(processes, (each) => each.stop()));
  process.exit(exitCode);
}

process.once('SIGINT', () => void stop(0));
process.once('SIGTERM', () => void stop(0));
endWithParent(() => void stop(0));
endWithShell(() => void stop(0));

const carrier = await start('../carrier-stub/main.js');
const carrierUrl = `http://127.0.0.1:${carrier.listening.port}`;
const atCarrier = { CARRIER_URL: carrierUrl, TRACKING_URL: carrierUrl };
let shop = await start('../main.js', atCarrier);

/** Ends the shop alone, and starts it again where it was: for whoever started us, who wants to see what survives that. */
async function restartShop({ restart: signal }: RestartMessage): Promise<void> {
  processes.delete(shop.server);
  await shop.server.end(signal);
  const { port, messagePort } = shop.listening;
  shop = await start('../main.js', { ...atCarrier, PORT: String(port), MESSAGE_PORT: String(messagePort) });
  console.log(`The shop is back after a ${signal}`);
}

process.on('message', (message) => void restartShop(message as RestartMessage));

const { port, messagePort, keys } = shop.listening;
console.log(whatToTry({ shopUrl: `http://localhost:${port}`, carrierUrl, messagePort, keys }));
