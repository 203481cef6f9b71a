import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { ROWS } from '../rows.js';
import type { Line } from '../table.js';
import { keepResults, knownResults, PAGE } from './files.js';
import { majorOf } from '../measured-node.js';
import { reportPage } from './page.js';
import { merge, type Sitting } from './results.js';

/** What was measured on one Node. */
interface Measured {
  readonly node: string;
  readonly lines: readonly Line[];
}

/** Puts what was measured to what is known, and writes the report from all of it. */
export async function writeReport(
  measured: readonly Measured[],
  { runs, quick }: { readonly runs: number; readonly quick: boolean },
): Promise<void> {
  const known = await knownResults();
  const ids = ROWS.map(({ id }) => id);
  for (const { node, lines } of measured) {
    if (lines.length === 0) continue;

    const sitting: Sitting = { date: today(), node, machine: machine(), runs, quick, packages: packages() };
    const before = known.find(({ major }) => major === majorOf(node));
    await keepResults(merge(before, { sitting, lines }, ids));
  }

  await writeFile(PAGE, reportPage(await knownResults()));
}

const today = (): string => new Date().toISOString().slice(0, 10);

function machine(): string {
  const [processor] = cpus();

  return `${cpus().length} × ${processor?.model.trim() || 'processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
}

/** Libraries that are compared, and ours. */
const COMPARED = [
  'holdfast',
  '@nestjs/resilience',
  '@nestjs/idempotency',
  'cockatiel',
  'opossum',
  'p-retry',
  'p-timeout',
  'p-queue',
  'nestjs-resilience',
  'undici',
  'effect',
  '@node-idempotency/core',
  'express-idempotency',
  '@nestjs/core',
];

function packages(): Readonly<Record<string, string>> {
  const file = new URL('../../package.json', import.meta.url);
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> };

  return Object.fromEntries(COMPARED.map((name) => [name, dependencies[name] ?? 'unknown']));
}
