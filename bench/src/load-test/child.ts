import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { measuredNode } from '../measured-node.js';

interface Reply {
  readonly nth: number;
  readonly answer: unknown;
}

/** A process of the run. It ends with this one. */
export class Child {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  readonly #ended: Promise<never>;
  #asked = 0;

  private constructor(process: ChildProcess, name: string) {
    this.#process = process;
    this.#ended = once(process, 'exit').then(([code, signal]) =>
      Promise.reject(new Error(`The process of the ${name} has ended: ${code ?? signal}`)),
    );
    this.#ended.catch(() => {});
    process.on('message', ({ nth, answer }: Reply) => {
      this.#waiting.get(nth)?.(answer);
      this.#waiting.delete(nth);
    });
  }

  /** Starts a program that stands beside this file; resolves to it and to what it says when it is ready. */
  static async start<T>(name: string, args: readonly string[]): Promise<{ child: Child; ready: T }> {
    const program = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
    const forked = fork(program, args, { execPath: measuredNode(), execArgv: ['--expose-gc'] });
    const child = new Child(forked, name);
    const ready = await child.#answer<T>(0);

    return { child, ready };
  }

  /** @throws when the process ends before it has answered. */
  async ask<T>(name: string, given?: unknown): Promise<T> {
    const nth = ++this.#asked;
    const answer = this.#answer<T>(nth);
    this.#process.send({ nth, name, given });

    return answer;
  }

  stop(): void {
    this.#process.kill();
  }

  #answer<T>(nth: number): Promise<T> {
    const answered = new Promise<T>((resolve) => this.#waiting.set(nth, resolve as (answer: unknown) => void));

    return Promise.race([answered, this.#ended]);
  }
}
