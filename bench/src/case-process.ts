import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SliceReply, SliceRequest } from './measured-process.js';
import type { Measure, Row } from './row.js';

const ENTRY = fileURLToPath(new URL('./measured-process.js', import.meta.url));

/** A young generation that is not collected while a run lasts, or hardly; in megabytes. */
const UNCOLLECTED: readonly string[] = ['--min-semi-space-size=512', '--max-semi-space-size=512'];

/** How the process of a row is started, where a row is about memory. */
const ARGUMENTS: Readonly<Partial<Record<Measure, readonly string[]>>> = {
  memory: UNCOLLECTED,
  held: ['--expose-gc'],
};

function argumentsFor(row: Row): readonly string[] {
  return row.uncollected === true ? UNCOLLECTED : (ARGUMENTS[row.measure] ?? []);
}

export interface Conditions {
  readonly hooks: 'off' | 'on';
  /** The Node that it runs on, and servers that it starts. */
  readonly execPath: string;
}

/** The process in which one row (or one side of it) is measured. */
export class CaseProcess {
  /** The version of Node that it runs on. */
  readonly node: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, node: string) {
    this.#child = child;
    this.node = node;
  }

  /** Starts a process, and waits until its sides are ready. */
  static async start(row: Row, { hooks, execPath }: Conditions): Promise<CaseProcess> {
    const child = fork(ENTRY, [row.id, hooks], {
      execPath,
      env: { ...process.env, BENCH_NODE: execPath },
      execArgv: [...argumentsFor(row)],
    });
    try {
      const answer = await nextReply(child);
      if (answer.kind !== 'ready') throw new Error(`${row.id} answered before it was ready`);

      return new CaseProcess(child, answer.node);
    } catch (error) {
      child.kill();
      throw error;
    }
  }

  async measure(request: SliceRequest): Promise<number> {
    const answer = nextReply(this.#child);
    this.#child.send(request);
    const slice = await answer;
    if (slice.kind !== 'slice') throw new Error('A measured process answered out of turn');

    return slice.value;
  }

  stop(): void {
    this.#child.kill();
  }
}

/** A slice takes milliseconds, or seconds where it is a load: what takes longer than this hangs. */
const LONGEST_MS = 120_000;

function nextReply(child: ChildProcess): Promise<Exclude<SliceReply, { kind: 'failed' }>> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => {
      clearTimeout(limit);
      reject(new Error(`A measured process ended with code ${code}`));
    };
    const limit = setTimeout(() => {
      reject(new Error(`A measured process said nothing for ${LONGEST_MS / 1_000} seconds`));
    }, LONGEST_MS);
    child.once('exit', onExit);
    child.once('message', (message: SliceReply) => {
      child.off('exit', onExit);
      clearTimeout(limit);
      if (message.kind === 'failed') reject(new Error(message.message));
      else resolve(message);
    });
  });
}
