// #region esbuild
import type { BuildOptions } from 'esbuild';
import { missing } from './optional-packages.js';

const shared = {
  entryPoints: ['dist/main.js'],
  bundle: true,
  platform: 'node',
  target: 'node20',
  external: missing,
} satisfies BuildOptions;

/** Express and others are CommonJS, and ask for Node's modules with `require()`, which a module has to be given. */
const js = "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

export const esm: BuildOptions = { ...shared, format: 'esm', outfile: 'bundle/main.mjs', banner: { js } };

/** Without a top-level `await` in the application. */
export const cjs: BuildOptions = {
  ...shared,
  format: 'cjs',
  outfile: 'bundle/main.cjs',
  // Nest and this package do without it where there is none.
  logOverride: { 'empty-import-meta': 'silent' },
};
// #endregion
