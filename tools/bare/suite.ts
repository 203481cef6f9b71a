/** Runs a bundled test file and tells of each of its tests. */
import { startTests, type Suite, type Task, type VitestRunner } from '@vitest/runner';
import { vi } from './vitest.ts';

export interface Outcome {
  readonly name: string;
  readonly state: string;
  readonly errors: readonly string[];
}

export async function runFile(path: string, load: () => Promise<unknown>): Promise<Outcome[]> {
  const runner: VitestRunner = {
    config: {
      root: '/',
      name: undefined,
      setupFiles: [],
      passWithNoTests: false,
      testNamePattern: undefined,
      allowOnly: false,
      sequence: { seed: 0, hooks: 'stack', setupFiles: 'list' },
      chaiConfig: undefined,
      maxConcurrency: 1,
      testTimeout: 60_000,
      hookTimeout: 60_000,
      retry: 0,
      includeTaskLocation: false,
      tags: [],
      tagsFilter: undefined,
      strictTags: false,
    },
    importFile: load,
    onBeforeTryTask: () => void vi.restoreAllMocks(),
  };
  const [file] = await startTests([path], runner);
  if (file === undefined) throw new Error(`${path} was not run`);

  return [...failureOf(file), ...outcomesOf(file, '')];
}

/** A suite fails by itself when it does not load or when a hook fails. */
function failureOf(suite: Suite): Outcome[] {
  const errors = errorsOf(suite);

  return errors.length === 0 ? [] : [{ name: suite.name, state: 'fail', errors }];
}

function outcomesOf(suite: Suite, above: string): Outcome[] {
  return suite.tasks.flatMap((task) => {
    const name = above === '' ? task.name : `${above} > ${task.name}`;
    if (task.type === 'suite') return [...failureOf(task), ...outcomesOf(task, name)];

    return [{ name, state: task.result?.state ?? task.mode, errors: errorsOf(task) }];
  });
}

function errorsOf(task: Task): string[] {
  return (task.result?.errors ?? []).map((error) => error.stack ?? error.message);
}
