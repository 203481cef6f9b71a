import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** A program on Node that serves. */
export interface Program {
  /** The first line that it printed; empty when it ended without one. */
  readonly firstLine: string;
  /** Ends its input. What it printed on its error output comes first, so that a failed start shows why. */
  end(): Promise<{ readonly errors: string; readonly exitCode: number | null }>;
}

/** Until it has printed a line, or has ended. */
export async function startProgram(file: string, args: readonly string[] = []): Promise<Program> {
  const child = spawn(process.execPath, [...args, file], { stdio: ['pipe', 'pipe', 'pipe'], timeout: 30_000 });
  const exit = once(child, 'exit') as Promise<[number | null]>;
  const errors = text(child.stderr);
  const lines = createInterface({ input: child.stdout });
  const firstLine = await Promise.race([once(lines, 'line').then(([line]) => String(line)), exit.then(() => '')]);

  return {
    firstLine,
    end: async () => {
      child.stdin.end();
      return { errors: await errors, exitCode: (await exit)[0] };
    },
  };
}
