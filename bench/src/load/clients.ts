import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

export interface Load {
  readonly clients: number;
  /** Requests of each client, one after the other. */
  readonly each: number;
  /** Over how long the clients' first requests are spread: at one instant they would measure the start of a server. */
  readonly spreadMs: number;
  /** When clients stop asking, whatever they have asked: by `performance.now()`. Default: never. */
  readonly until?: number;
}

/** Requests that come whether those before have been answered or not, as from clients who know nothing of each other. */
export interface Pace {
  readonly requests: number;
  readonly everyMs: number;
  /** How many of the first do not count: until as many are in flight as the pace and the answers keep there. */
  readonly ramp: number;
}

export interface Answered {
  /** Since it was due, so that what comes late since the clients were held is late. */
  readonly ms: number;
  readonly status: number | undefined;
  readonly body: string;
}

/** Asks as many clients do at the same time, each over a connection of its own, which it keeps for its requests. */
export async function askAll(
  url: string,
  { clients, each, spreadMs, until = Infinity }: Load,
): Promise<readonly Answered[]> {
  return overKeptConnections(url, async (target) => {
    const answers = Array.from({ length: clients }, async (_, client) => {
      await delay((client / clients) * spreadMs);
      return askInTurn(target, each, until);
    });
    return (await Promise.all(answers)).flat();
  });
}

/** Asks at a steady pace, over as many connections as that takes. */
export async function askSteadily(url: string, { requests, everyMs, ramp }: Pace): Promise<readonly Answered[]> {
  return overKeptConnections(url, async (target) => {
    const startedAt = performance.now();
    const answers = Array.from({ length: requests }, async (_, request) => {
      const dueAt = startedAt + request * everyMs;
      await delay(request * everyMs);
      return ask(target, dueAt);
    });
    return (await Promise.all(answers)).slice(ramp);
  });
}

/** Of one agent, whose connections are closed in the end. */
export async function overKeptConnections<T>(url: string, use: (target: Target) => Promise<T>): Promise<T> {
  const agent = new Agent({ keepAlive: true });
  try {
    return await use({ url, agent });
  } finally {
    agent.destroy();
  }
}

export interface Target {
  readonly url: string;
  readonly agent: Agent;
  /** Default `'GET'`. */
  readonly method?: 'GET' | 'POST';
  /** After how long nobody waits any more. Default: never. */
  readonly patienceMs?: number;
}

async function askInTurn(target: Target, times: number, until: number): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let time = 0; time < times && performance.now() < until; time++) {
    answers.push(await ask(target, performance.now()));
  }

  return answers;
}

/**
 * Asks once. `dueAt`, by `performance.now()`, is what the time of the answer is counted from.
 *
 * @throws what became of the connection, when there is no whole answer, or none before the patience was over.
 */
export function ask({ url, agent, method = 'GET', patienceMs }: Target, dueAt: number): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method }, (answer) => {
      text(answer).then((body) => {
        clearTimeout(patience);
        resolve({ ms: performance.now() - dueAt, status: answer.statusCode, body });
      }, reject);
    });
    const patience =
      patienceMs === undefined
        ? undefined
        : setTimeout(() => asked.destroy(new Error(`nothing for ${patienceMs} ms`)), patienceMs);
    asked.on('error', (error) => {
      clearTimeout(patience);
      reject(error);
    });
    asked.end();
  });
}
