// Writes every marked block of the documentation anew from the file that it shows.
import { writeFileSync } from 'node:fs';
import { pathTo } from '../readme.mjs';
import { pages, read, synchronized } from './pages.mjs';

for (const path of pages()) {
  const before = read(path);
  const after = synchronized(before);
  if (after === before) continue;

  writeFileSync(pathTo(path), after);
  console.log(`wrote the snippets of ${path}`);
}
