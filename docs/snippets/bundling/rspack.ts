// #region rspack
import { resolve } from 'node:path';
import type { Configuration } from '@rspack/core';
import { isMissing } from './optional-packages.js';

const shared = {
  mode: 'production',
  target: 'node20',
  entry: './dist/main.js',
  externals: [({ request }, done) => (isMissing(request) ? done(undefined, `import ${request}`) : done())],
  // One file: what is imported on demand is in it too.
  module: { parser: { javascript: { dynamicImportMode: 'eager' } } },
  // Events, errors and logs call handlers by the names of their classes.
  optimization: { minimize: false },
} satisfies Configuration;

export const esm: Configuration = {
  ...shared,
  output: {
    path: resolve('bundle'),
    filename: 'main.mjs',
    module: true,
    chunkFormat: 'module',
    library: { type: 'module' },
  },
};

/** Without a top-level `await` in the application. */
export const cjs: Configuration = { ...shared, output: { path: resolve('bundle'), filename: 'main.cjs' } };
// #endregion
