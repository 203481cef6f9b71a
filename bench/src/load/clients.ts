import { Agent, get } from 'node:http';
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

export interface Answered {
  readonly ms: number;
  readonly status: number | undefined;
  readonly body: string;
}

/** Asks as many clients do at the same time, each over a connection of its own, which it keeps for its requests. */
export async function askAll(
  url: string,
  { clients, each, spreadMs, until = Infinity }: Load,
): Promise<readonly Answered[]> {
  const agent = new Agent({ keepAlive: true });
  try {
    const answers = await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        await delay((client / clients) * spreadMs);
        return askInTurn({ url, agent }, each, until);
      }),
    );
    return answers.flat();
  } finally {
    agent.destroy();
  }
}

interface Target {
  readonly url: string;
  readonly agent: Agent;
}

async function askInTurn(target: Target, times: number, until: number): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let time = 0; time < times && performance.now() < until; time++) answers.push(await ask(target));

  return answers;
}

function ask({ url, agent }: Target): Promise<Answered> {
  const startedAt = performance.now();

  return new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      text(answer).then((body) => {
        resolve({ ms: performance.now() - startedAt, status: answer.statusCode, body });
      }, reject);
    }).on('error', reject);
  });
}
