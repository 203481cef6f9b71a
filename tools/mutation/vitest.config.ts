import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import everything from '../../vitest.config.ts';
import { ClosestFirst } from './closest-first.ts';

const projects = (everything.test?.projects ?? []) as TestProjectInlineConfiguration[];
const engine = projects.find(({ test }) => test?.name === 'engine')!;
const freshModules = fileURLToPath(new URL('fresh-modules.ts', import.meta.url));

/** Tests that look at heaps, at sockets or at thousands of random programs: most mutants would wait for them in vain. */
const SLOW = ['src/**/*memory.node.test.ts', 'src/**/*.sockets.node.test.ts', 'src/**/*.property.test.ts'];

/** Tests of real time fail on a busy machine, whatever the mutant; those of stalls need a process of their own as well. */
const REAL_TIME = ['src/**/*.stall.node.test.ts', 'src/async-context.node.test.ts'];

/** Tests whose subject is another file, and which start servers or programs. */
const ELSEWHERE = [
  'src/fetch/**',
  'src/nest/**',
  'src/client-gone.node.test.ts',
  'src/clock.node.test.ts',
  'src/signals.node.test.ts',
];

export default defineConfig({
  ...engine,
  test: {
    ...engine.test,
    exclude: [...SLOW, ...REAL_TIME, ...ELSEWHERE],
    isolate: false,
    // What a mutant counts in its runs is slow; a test that fails for its slowness would count as one that notices.
    testTimeout: 20_000,
    setupFiles: [freshModules, engine.test?.setupFiles ?? []].flat(),
    sequence: { sequencer: ClosestFirst },
  },
});
