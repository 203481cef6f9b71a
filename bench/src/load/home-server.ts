import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { measuredNode } from '../measured-node.js';

const START = fileURLToPath(import.meta.resolve('@holdfast/home-bff/start'));
const START_BY_HAND = fileURLToPath(new URL('./home-by-hand.js', import.meta.url));
const HEAP_REPORTER = new URL('./heap-reporter.js', import.meta.url).href;

/** How long calls that were given up may take to be gone from the stubs. */
const ENDING_MS = 2_000;
const LOOK_EVERY_MS = 20;

/**
 * The home page's server, and its stubs, of which the one of coupons never answers: each in a process of its own. The
 * stubs are those that another server has started for itself.
 */
export class HomeServer {
  readonly #children: readonly ChildProcess[];
  readonly #url: string;
  readonly #stubs: readonly string[];

  private constructor(children: readonly ChildProcess[], url: string, stubs: readonly string[]) {
    this.#children = children;
    this.#url = url;
    this.#stubs = stubs;
  }

  static start(): Promise<HomeServer> {
    return HomeServer.#startWith(START);
  }

  /** The same page by hand, on stubs of its own. */
  static startByHand(): Promise<HomeServer> {
    return HomeServer.#startWith(START_BY_HAND);
  }

  static async #startWith(program: string): Promise<HomeServer> {
    const withStubs = await startProcess(START, {});
    const stubs = [...withStubs.printed.matchAll(/^Stub of (\w+): (\S+)/gm)].map(
      ([, name = '', url = '']): [string, string] => [`${name.toUpperCase()}_URL`, url],
    );
    const server = await startProcess(program, Object.fromEntries(stubs));
    const url = /^Home: (\S+)/m.exec(server.printed)?.[1] ?? '';

    return new HomeServer(
      [server.child, withStubs.child],
      url,
      stubs.map(([, stub]) => stub),
    );
  }

  get page(): string {
    return `${this.#url}/api/home`;
  }

  get nowhere(): string {
    return `${this.#url}/nowhere`;
  }

  /** @throws when calls of pages that have been answered are still in flight at the stubs. */
  async requireNothingInFlight(): Promise<void> {
    for (const lookUntil = performance.now() + ENDING_MS; performance.now() < lookUntil;) {
      if ((await this.#inFlight()) === 0) return;
      await delay(LOOK_EVERY_MS);
    }
    const left = await this.#inFlight();
    if (left > 0) throw new Error(`${left} calls were in flight at the stubs ${ENDING_MS} ms after the last answer`);
  }

  /** What is alive on its heap, in bytes. */
  async heap(): Promise<number> {
    const [server] = this.#children as [ChildProcess];
    server.send('heap');
    const [bytes] = (await once(server, 'message')) as [number];

    return bytes;
  }

  stop(): void {
    for (const child of this.#children) child.kill();
  }

  async #inFlight(): Promise<number> {
    const stats = await Promise.all(this.#stubs.map(async (url) => (await fetch(`${url}/stats`)).json()));

    return stats.reduce((sum: number, each) => sum + (each as { inFlight: number }).inFlight, 0);
  }
}

async function startProcess(
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ child: ChildProcess; printed: string }> {
  const child = fork(program, {
    env: { ...process.env, PORT: '0', ...environment },
    execPath: measuredNode(),
    execArgv: ['--expose-gc', '--import', HEAP_REPORTER],
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`A server ended with ${code}`)));
  const [printed] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
  ended.catch(() => {});

  return { child, printed: String(printed) };
}
