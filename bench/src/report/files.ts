import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { readResults, writeResults, type Results } from './results.js';

/** Where figures are kept between runs, one file for each major version of Node. */
const FOLDER = new URL('../../results/', import.meta.url);
/** All of it. */
export const RESULTS_PAGE = new URL('../../RESULTS.md', import.meta.url);
/** What users read; it has places for figures. */
export const DOCS_PAGE = new URL('../../../docs/performance.md', import.meta.url);
const PLOTS = new URL('../../../docs/plots/', import.meta.url);

/** What is known of all Nodes, the oldest first. */
export async function knownResults(): Promise<readonly Results[]> {
  if (!existsSync(FOLDER)) return [];

  const files = (await readdir(FOLDER)).filter((file) => /^node-\d+\.json$/.test(file));
  const all = await Promise.all(files.map(async (file) => readResults(await readFile(new URL(file, FOLDER), 'utf8'))));

  return all.sort((a, b) => a.major - b.major);
}

export async function keepResults(results: Results): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(new URL(`node-${results.major}.json`, FOLDER), writeResults(results));
}

/** @param plots By the name of the file. */
export async function keepPlots(plots: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(PLOTS, { recursive: true });
  await Promise.all(Object.entries(plots).map(([file, svg]) => writeFile(new URL(file, PLOTS), svg)));
}
