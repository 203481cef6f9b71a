// Writes every marked block of the documentation anew from the file that it shows.
import { writeFileSync } from 'node:fs';
import { readOptions, readOrExit } from '../command-line/command-line.mjs';
import { pathTo } from '../readme.mjs';
import { pages, read, synchronized } from './pages.mjs';

readOrExit((args) => readOptions({ args: [...args], options: {} }));

for (const path of pages()) {
  const before = read(path);
  const after = synchronized(before);
  if (after === before) continue;

  writeFileSync(pathTo(path), after);
  console.log(`wrote the snippets of ${path}`);
}
