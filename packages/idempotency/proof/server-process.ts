import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit } from './at-exit.js';
import { clockShift, type WallClock } from './clock-shift.js';
import { moment, type Span } from './moment.js';
import { environmentOf, type ServerSettings } from './server/server-settings.js';

const MAIN = fileURLToPath(new URL('server/main.js', import.meta.url));

/** One process, from its start to its end. */
export interface Life {
  readonly name: string;
  killedAt: number | undefined;
  /** When it was stopped. */
  readonly frozen: Span[];
  /** It ended by itself. */
  hasCrashed: boolean;
}

export interface ServerPlan {
  readonly name: string;
  readonly folder: string;
  readonly settings: Omit<ServerSettings, 'life' | 'acknowledged' | 'stalls'>;
  /** Not the right time. */
  readonly clock: WallClock | undefined;
}

/** The name of the file in which it says when it could not run. */
export function stallsOf({ name }: Pick<Life, 'name'>): string {
  return `${name}.stalls`;
}

/** A server that is killed and comes back on the same port. */
export class ServerProcess {
  readonly lives: Life[] = [];
  #child: ChildProcess | undefined;
  #isFrozen = false;

  constructor(private readonly plan: ServerPlan) {}

  get url(): string {
    return `http://127.0.0.1:${this.plan.settings.port}/charges`;
  }

  /** It answers, or would if nothing else were wrong. */
  get isUp(): boolean {
    return this.#child !== undefined && !this.#isFrozen;
  }

  /** Until it listens. */
  async start(): Promise<void> {
    const { name, folder, settings, clock } = this.plan;
    const life: Life = { name: `${name}.${this.lives.length + 1}`, killedAt: undefined, frozen: [], hasCrashed: false };
    this.lives.push(life);
    const log = join(folder, `${life.name}.out`);
    const output = openSync(log, 'a');
    const shift = clock === undefined ? [] : ['--import', clockShift(clock)];
    const child = spawn(process.execPath, [...shift, MAIN], {
      env: {
        ...environmentOf({
          ...settings,
          life: life.name,
          seed: settings.seed + this.lives.length,
          acknowledged: join(folder, `${life.name}.jsonl`),
          stalls: join(folder, stallsOf(life)),
        }),
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
      },
      stdio: ['ignore', output, output, 'ipc'],
    });
    closeSync(output);
    const exit = once(child, 'exit');
    void exit.then(atExit(() => child.kill('SIGKILL')));
    const first = await Promise.race([once(child, 'message'), exit.then(() => undefined)]);
    if (first === undefined) throw new Error(`Server ${life.name} did not start:\n${readFileSync(log, 'utf8')}`);

    this.#child = child;
    void exit.then(() => {
      life.hasCrashed = this.#child === child;
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;

    this.#child = undefined;
    const gone = once(child, 'exit');
    this.life.killedAt = moment();
    child.kill('SIGKILL');
    await gone;
  }

  /** As a process that is moved to another machine, or whose machine sleeps. */
  freeze(): () => void {
    const child = this.#child;
    const from = moment();
    this.#isFrozen = true;
    child?.kill('SIGSTOP');

    return () => {
      this.#isFrozen = false;
      this.life.frozen.push({ from, to: moment() });
      child?.kill('SIGCONT');
    };
  }

  private get life(): Life {
    return this.lives.at(-1) as Life;
  }
}
