import { readOrExit } from '../../tools/command-line/command-line.mjs';
import { readCommandLine, type Command } from './command-line.js';
import { nodesOf } from './measured-node.js';
import { rewriteReport, writeReport } from './report/write.js';
import type { Row } from './row.js';
import { runRow, type RunResult } from './run-row.js';
import { renderTable, sumUp, type Line } from './table.js';

interface Outcome {
  readonly lines: readonly Line[];
  /** Rows that could not be measured, and why. */
  readonly broken: ReadonlyMap<Row, string>;
  /** The version of Node that was measured. */
  readonly node: string;
}

/** What is known of one Node while it is measured. */
class Measuring {
  readonly #runs = new Map<Row, RunResult[]>();
  readonly #broken = new Map<Row, string>();
  readonly #command: Command;
  readonly #execPath: string;

  constructor(command: Command, execPath: string) {
    this.#command = command;
    this.#execPath = execPath;
  }

  async run(row: Row): Promise<void> {
    if (this.#broken.has(row)) return;

    try {
      const result = await runRow(row, this.#command.effortOf(row), this.#execPath);
      this.#runs.set(row, [...(this.#runs.get(row) ?? []), result]);
    } catch (error) {
      this.#broken.set(row, explain(error));
    }
  }

  outcome(): Outcome {
    const whole = this.#command.rows.filter((row) => this.#runs.has(row) && !this.#broken.has(row));
    const [[first] = []] = this.#runs.values();

    return {
      lines: whole.map((row) => sumUp(row, this.#runs.get(row) ?? [])),
      broken: this.#broken,
      node: first?.node ?? '',
    };
  }
}

/**
 * Runs of all rows in turn rather than all runs of one: a bad minute of the machine hits one run of many rows, and of
 * all Nodes.
 */
async function measure(command: Command, nodes: readonly string[]): Promise<readonly Outcome[]> {
  const measurings = nodes.map((execPath) => new Measuring(command, execPath));
  const most = Math.max(...command.rows.map((row) => command.effortOf(row).runs));
  for (let run = 1; run <= most; run++) {
    for (const row of command.rows.filter((each) => command.effortOf(each).runs >= run)) {
      process.stderr.write(`run ${run} of ${command.effortOf(row).runs}: ${row.id}\n`);
      for (const measuring of measurings) await measuring.run(row);
    }
  }

  return measurings.map((measuring) => measuring.outcome());
}

function explain(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function tell({ lines, broken, node }: Outcome): void {
  process.stdout.write(`Node ${node}\n${renderTable(lines)}\n`);
  for (const [row, reason] of broken) process.stdout.write(`\n${row.id} could not be measured: ${reason}\n`);

  const missed = lines.filter(({ verdict }) => verdict.kind === 'miss' && verdict.fails);
  if (missed.length > 0) {
    process.stdout.write(`\nMore than 10 % above the target: ${missed.map(({ row }) => row.id).join(', ')}\n`);
  }
  if (missed.length > 0 || broken.size > 0) process.exitCode = 1;
}

async function main(): Promise<void> {
  const command = readOrExit(readCommandLine);
  if (command.rewrite) return rewriteReport();

  const nodes = readOrExit(() => nodesOf(command));
  const outcomes = await measure(command, nodes);
  for (const outcome of outcomes) tell(outcome);
  if (command.report) await writeReport(outcomes, command);
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
});
