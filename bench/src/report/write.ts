import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { GROUPS, ROWS } from '../rows.js';
import type { Line } from '../table.js';
import { docsPage } from './docs-page.js';
import { DOCS_PAGE, keepPlots, keepResults, knownResults, RESULTS_PAGE } from './files.js';
import { majorOf } from '../measured-node.js';
import { reportPage } from './page.js';
import { plotsOf } from './plots.js';
import { merge, type Sitting } from './results.js';

/** What was measured on one Node. */
interface Measured {
  readonly node: string;
  readonly lines: readonly Line[];
}

/** Puts what was measured to what is known, and writes the report, the figures in the documentation and the plots from all of it. */
export async function writeReport(
  measured: readonly Measured[],
  { quick }: { readonly quick: boolean },
): Promise<void> {
  const known = await knownResults();
  const ids = ROWS.map(({ id }) => id);
  for (const { node, lines } of measured) {
    if (lines.length === 0) continue;

    const sitting: Sitting = { date: today(), node, machine: machine(), quick, packages: packages() };
    const before = known.find(({ major }) => major === majorOf(node));
    await keepResults(merge(before, { sitting, lines }, ids));
  }

  await rewriteReport();
}

/** Writes all that is made from figures, from those that are known. */
export async function rewriteReport(): Promise<void> {
  const all = await knownResults();
  if (all.length === 0) throw new Error('Nothing has been measured yet; npm run bench -- --report does it');

  await writeFile(RESULTS_PAGE, reportPage(all));
  await writeFile(DOCS_PAGE, docsPage(await readFile(DOCS_PAGE, 'utf8'), all));
  await keepPlots(plotsOf(all, GROUPS));
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
