// #region rolldown
import type { BuildOptions } from 'rolldown';
import { isMissing } from './optional-packages.js';

const shared = { input: 'dist/main.js', platform: 'node', external: isMissing } satisfies BuildOptions;

export const esm: BuildOptions = {
  ...shared,
  output: { format: 'esm', file: 'bundle/main.mjs', codeSplitting: false },
};

/** Without a top-level `await` in the application. */
export const cjs: BuildOptions = {
  ...shared,
  output: { format: 'cjs', file: 'bundle/main.cjs', codeSplitting: false },
};
// #endregion
