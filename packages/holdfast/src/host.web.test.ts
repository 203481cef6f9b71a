import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { host } from './host.web.js';
import type { Scope } from './scope.js';

useFakeClock();

describe('a runtime of which nothing is known but the web platform', () => {
  it('has no ambient attempt, and runs what is to run in one', () => {
    const scope = {} as Scope;
    const enter = vi.fn((target: string, given: Scope) => [target, given, host.currentScope()]);

    expect(host.runInScope(scope, enter, 'target')).toEqual(['target', scope, undefined]);
    expect(host.currentScope()).toBeUndefined();
  });

  it('has nobody who reads channels', () => {
    expect(host.hasSubscribers('timeout')).toBe(false);
    expect(() => host.publish({ type: 'timeout', policy: 'quotes', source: undefined, timeoutMs: 5 })).not.toThrow();
  });

  it('lets pending input come first by waiting for a turn of the event loop', async () => {
    const callback = vi.fn();
    host.afterPendingInput(callback);
    expect(callback).not.toHaveBeenCalled();

    await pass(0);
    expect(callback).toHaveBeenCalledTimes(1);
  });
});
