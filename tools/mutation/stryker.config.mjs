/** What the engine's tests read, and every `tsconfig.json`, since those name each other. */
const COPIED = [
  'packages/holdfast/**',
  'tools/mutation/**',
  'tools/vitest/**',
  'package.json',
  'vitest.config.ts',
  '**/tsconfig*.json',
];

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  // `related` names the mutated file to the order of the tests; a worker thread takes no `--expose-gc`.
  vitest: { configFile: 'tools/mutation/vitest.config.ts', related: true, pool: 'forks' },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // A run that is cut off counts as noticed, so that it must be an endless one and not one on a busy machine.
  timeoutMS: 30_000,
  timeoutFactor: 4,
  // Nothing here is compiled by TypeScript, and a comment at the top would only move what is reported.
  disableTypeChecks: false,
  tempDirName: '.cache/stryker',
  cleanTempDir: 'always',
  ignorePatterns: ['**/*.*', ...COPIED.map((pattern) => `!${pattern}`), 'node_modules', '.cache', 'dist'],
  reporters: ['json', 'progress-append-only'],
  jsonReporter: { fileName: '.cache/mutation/report.json' },
  allowConsoleColors: false,
  // Constants are looked at as well, though each of their mutants loads every test.
  ignoreStatic: false,
};
