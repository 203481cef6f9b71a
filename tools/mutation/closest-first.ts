import { basename, dirname } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A run ends with the first test that fails, and tests that are named like the mutated file are the likeliest to. */
export class ClosestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [mutated] = this.ctx.config.related ?? [];
    if (mutated === undefined) return files;

    return files.toSorted((a, b) => distance(a.moduleId, mutated) - distance(b.moduleId, mutated));
  }
}

function distance(test: string, mutated: string): number {
  if (basename(test).startsWith(`${basename(mutated, '.ts')}.`)) return 0;

  return dirname(test) === dirname(mutated) ? 1 : 2;
}
