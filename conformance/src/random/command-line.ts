import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readOptions, readWholeNumber } from '../../../tools/command-line/command-line.mjs';
import type { Scenario } from './scenario.js';

export interface Command {
  /** How many executions are drawn. */
  readonly executions: number;
  /** That of the first; the others have those that follow. */
  readonly seed: number;
  /** How many processes share them. */
  readonly processes: number;
  /** The only one that is played, when there is one. */
  readonly scenario: Scenario | undefined;
}

/** A scenario itself, or the file that it is in. */
function scenarioIn(given: string): Scenario {
  const read = parsed(given.startsWith('{') ? () => given : () => readFileSync(given, 'utf8'));
  if (isScenario(read)) return read;

  throw new TypeError(
    `--scenario: expected a scenario as JSON, or a file with one, as a failure prints it, got ${JSON.stringify(given)}.`,
  );
}

function parsed(read: () => string): unknown {
  try {
    return JSON.parse(read());
  } catch {
    return undefined;
  }
}

function isScenario(value: unknown): value is Scenario {
  const { policies, stacks, stages, steps } = (value ?? {}) as Partial<Scenario>;

  return [policies, stacks, stages, steps].every(Array.isArray);
}

/**
 * `--executions`, `--seed`, `--processes` and `--scenario`: 20,000 executions from any seed on in this process, when
 * nothing is asked for.
 *
 * @throws TypeError naming the option.
 */
export function readCommandLine(args: readonly string[]): Command {
  const { values } = readOptions({
    args: [...args],
    options: {
      executions: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(randomInt(1_000_000_000)) },
      processes: { type: 'string', default: '1' },
      scenario: { type: 'string' },
    },
  });
  const { scenario } = values;
  const executions = readWholeNumber('executions', values.executions, { least: 1 });

  return {
    executions,
    processes: Math.min(executions, readWholeNumber('processes', values.processes, { least: 1 })),
    seed: readWholeNumber('seed', values.seed, { least: 0 }),
    scenario: scenario === undefined ? undefined : scenarioIn(scenario),
  };
}
