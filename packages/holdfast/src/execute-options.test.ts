import { describe, expect, it, vi } from 'vitest';
import { errorOf } from '../test/outcome.js';
import type { ExecuteOptions } from './execution.js';
import { RetryPolicy } from './policies/retry.js';
import { ResiliencePolicy } from './policy.js';

const policies: readonly [string, ResiliencePolicy][] = [
  ['one policy', new RetryPolicy(3)],
  ['a wrap', ResiliencePolicy.wrap(new RetryPolicy(3))],
];

describe.each(policies)('the options of a call under %s', (_what, policy) => {
  it.each([
    [{ timeout: 100 }, 'timeout: unknown option. Known options: signal, source, detached, ambient, budget.'],
    [{ signall: undefined }, 'signall: unknown option. Did you mean "signal"?'],
    [{ source: 'Job.run', detach: true }, 'detach: unknown option. Did you mean "detached"?'],
    [new AbortController().signal, 'options: got an AbortSignal. Pass it as { signal }.'],
    ['Job.run', 'options: expected an options object, got a string. Use { signal, source }.'],
    [null, 'options: expected an options object, got null. Use { signal, source }.'],
    [() => 1, 'options: expected an options object, got a function. Use { signal, source }.'],
  ])('are refused, and the work never runs: %o', async (options, message) => {
    const work = vi.fn();
    const error = await errorOf(policy.execute(work, options as ExecuteOptions));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toBe(message);
    expect(work).not.toHaveBeenCalled();
  });

  it('may have inherited properties of any name', async () => {
    const options = Object.create({ traceId: 5 }, { source: { value: 'Job.run', enumerable: true } }) as ExecuteOptions;

    await expect(policy.execute(() => 'done', options)).resolves.toBe('done');
  });
});
