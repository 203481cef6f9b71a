import { afterEach, vi } from 'vitest';

// All files of a run share one process, which is there in a tenth of the time that one for each takes. The modules they
// do not share, and so neither the engine's state.
vi.resetModules();

declare global {
  /** After the first failure no test runs: the files that are left need not load. */
  var holdfastMutantIsNoticed: boolean | undefined;
}
if (globalThis.holdfastMutantIsNoticed) throw new Error('A test of an earlier file has failed.');

afterEach(({ task }) => {
  if (task.result?.state === 'fail') globalThis.holdfastMutantIsNoticed = true;
});
