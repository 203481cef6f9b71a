import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Puts our packages and their tests where what they find is NestJS 11: what is not installed there, as Vitest and the clients of
// servers, is found further up, in the project that this folder lies in.
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const place = join(root, '.cache/nest-11');

const PACKAGES = { holdfast: 'holdfast', '@nestjs/idempotency': 'idempotency' };
const BESIDE = ['vitest.config.ts', 'tsconfig.base.json', 'tools/vitest', 'tools/services'];

rmSync(place, { recursive: true, force: true });
mkdirSync(place, { recursive: true });
for (const name of ['package.json', 'package-lock.json']) cpSync(join(here, name), join(place, name));
execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: place, stdio: 'inherit' });

/**
 * `@nestjs/resilience` is for Nest 12 alone, and so are the tests of both together.
 *
 * @param {string} path
 */
const isOfNest11 = (path) => !path.endsWith('.test.ts') || !readFileSync(path, 'utf8').includes("'@nestjs/resilience'");
/** @param {string} path */
const isOurs = (path) => !['dist', 'node_modules'].includes(basename(path)) && isOfNest11(path);
for (const path of BESIDE) cpSync(join(root, path), join(place, path), { recursive: true, filter: isOurs });
for (const [name, folder] of Object.entries(PACKAGES)) {
  const copy = join(place, 'packages', folder);
  cpSync(join(root, 'packages', folder), copy, { recursive: true, filter: isOurs });
  symlinkSync(copy, join(place, 'node_modules', name));
}

// What is not installed there would be found further up as well, in another version and without a word.
const { dependencies } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'));
const peers = Object.keys(dependencies).filter((name) => name.startsWith('@nestjs/'));
for (const folder of Object.values(PACKAGES)) {
  const { resolve } = createRequire(join(place, 'packages', folder, 'src/index.ts'));
  const strays = peers.map((name) => resolve(`${name}/package.json`)).filter((path) => !path.startsWith(place));
  if (strays.length > 0) throw new Error(`${folder} finds another NestJS: ${strays.join(', ')}`);
}
