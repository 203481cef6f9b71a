import { readCommandLine, type Command } from './command-line.js';
import type { Row } from './rows.js';
import { runRow, type RunResult } from './run-row.js';
import { renderTable, sumUp, type Line } from './table.js';

interface Outcome {
  readonly lines: readonly Line[];
  /** Rows that could not be measured, and why. */
  readonly broken: ReadonlyMap<Row, string>;
}

/** Runs of all rows in turn rather than all runs of one: a bad minute of the machine hits one run of many rows. */
async function measure({ rows, runs: wanted, effortOf }: Command): Promise<Outcome> {
  const runs = new Map<Row, RunResult[]>(rows.map((row) => [row, []]));
  const broken = new Map<Row, string>();
  for (let run = 1; run <= wanted; run++) {
    for (const row of rows) {
      if (broken.has(row)) continue;

      process.stderr.write(`run ${run} of ${wanted}: ${row.id}\n`);
      try {
        runs.get(row)?.push(await runRow(row, effortOf(row)));
      } catch (error) {
        broken.set(row, explain(error));
      }
    }
  }

  const whole = rows.filter((row) => !broken.has(row));

  return { lines: whole.map((row) => sumUp(row, runs.get(row) ?? [])), broken };
}

function explain(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function main(): Promise<void> {
  const { lines, broken } = await measure(readCommandLine(process.argv.slice(2)));
  process.stdout.write(`${renderTable(lines)}\n`);
  for (const [row, reason] of broken) process.stdout.write(`\n${row.id} could not be measured: ${reason}\n`);

  const missed = lines.filter(({ verdict }) => verdict.kind === 'miss' && verdict.fails);
  if (missed.length > 0) {
    process.stdout.write(`\nMore than 10 % above the target: ${missed.map(({ row }) => row.id).join(', ')}\n`);
  }
  if (missed.length > 0 || broken.size > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
});
