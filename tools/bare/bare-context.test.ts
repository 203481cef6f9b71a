import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { pathTo } from '../readme.mjs';
import type { Outcome } from './suite.ts';

interface Suite {
  readonly outcomes: Record<string, Outcome[]>;
  readonly platform: Record<string, string>;
}

const compiler = pathTo('node_modules/typescript/bin/tsc');
execFileSync(process.execPath, [compiler, '-b', pathTo('packages/holdfast/tsconfig.src.json')]);
const suite = JSON.parse(
  execFileSync(process.execPath, ['--unhandled-rejections=strict', pathTo('tools/bare/run.mjs')], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  }),
) as Suite;

describe('the built engine without `process`, `Buffer` and `require`, on timers that are numbers', () => {
  it('runs on nothing else', () => {
    expect(suite.platform).toEqual({
      process: 'undefined',
      Buffer: 'undefined',
      require: 'undefined',
      timer: 'number',
    });
  });

  it.each(['retry', 'timeout', 'circuit-breaker', 'bulkhead', 'rate-limit', 'fallback'])(
    'is asked what the tests of %s ask',
    (policy) => {
      const asked = Object.keys(suite.outcomes).filter((path) => path.startsWith(`src/policies/${policy}.`));

      expect(asked).not.toEqual([]);
    },
  );

  describe.each(Object.entries(suite.outcomes))('%s', (_, outcomes) => {
    const asked = outcomes.filter(({ state }) => state !== 'skip' && state !== 'todo');

    it.each(asked.map(({ name, ...outcome }) => [name, outcome] as const))('%s', (_name, { state, errors }) => {
      expect(errors).toEqual([]);
      expect(state).toBe('pass');
    });
  });
});
