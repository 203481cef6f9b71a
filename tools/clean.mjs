// Removes what was built, so that no output of a renamed source is left to be published.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const built = [
  'packages/holdfast/dist',
  'packages/resilience/dist',
  'packages/idempotency/dist',
  'packages/idempotency/proof/dist',
  'examples/shop/dist',
  'bench/dist',
  '.cache',
];

await Promise.all(built.map((folder) => rm(join(root, folder), { recursive: true, force: true })));
