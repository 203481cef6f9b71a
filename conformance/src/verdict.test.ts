import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { NotOffered } from './adapter.js';
import { holdfast } from './adapters/holdfast.js';
import type { Guarantee } from './guarantee.js';
import { verdictOf } from './verdict.js';

function checking(check: Guarantee['check'], needs: Guarantee['needs'] = []): Guarantee {
  return { id: 'some', policy: 'retry', sentence: 'It holds.', seen: 'nowhere', needs, check, mutant: (ours) => ours };
}

const watchers = (): unknown[] =>
  ['warning', 'unhandledRejection', 'uncaughtException'].map((event) => process.listeners(event as 'warning'));
const before = watchers();

afterEach(() => expect(watchers()).toEqual(before));

describe('The verdict on a library', () => {
  it('is that a guarantee holds when its scenario ends', async () => {
    expect(
      await verdictOf(
        checking(async () => {}),
        holdfast,
      ),
    ).toEqual({ kind: 'holds' });
  });

  it('is that it fails, and why in one line, when the scenario finds so', async () => {
    const check = async (): Promise<void> => assert.equal(1, 2, 'it came too late\nby far');
    expect(await verdictOf(checking(check), holdfast)).toEqual({ kind: 'fails', because: 'it came too late' });
  });

  it('is that it fails when the library throws what nobody expects', async () => {
    const check = async (): Promise<void> => {
      throw new TypeError('no such option');
    };
    expect(await verdictOf(checking(check), holdfast)).toEqual({
      kind: 'fails',
      because: 'threw TypeError: no such option',
    });
  });

  it('is that it is not offered when a feature is missing, or the adapter says so', async () => {
    const { retry: _retry, ...without } = holdfast;
    const check = async (): Promise<void> => {
      throw new NotOffered('only in seconds');
    };
    expect(
      await verdictOf(
        checking(async () => {}, ['retry']),
        without,
      ),
    ).toEqual({
      kind: 'not offered',
      because: 'no retry',
    });
    expect(await verdictOf(checking(check), holdfast)).toEqual({ kind: 'not offered', because: 'only in seconds' });
  });

  it('is that it fails when a rejection is left to nobody', async () => {
    const check = async (): Promise<void> => void Promise.reject(new Error('late'));
    expect(await verdictOf(checking(check), holdfast)).toMatchObject({
      kind: 'fails',
      because: expect.stringContaining('unhandled rejection: Error: late') as string,
    });
  });

  it('is that it fails when the scenario waits for what never comes', async () => {
    const check = (): Promise<void> => new Promise(() => {});
    expect(await verdictOf(checking(check), holdfast)).toEqual({
      kind: 'fails',
      because: 'never settled, however much time passed',
    });
  });

  it('is that it is not offered when a call that the scenario only looks at says so', async () => {
    const check = async (): Promise<void> => {
      await Promise.reject(new NotOffered('not this side of it')).catch(() => {});
      assert.fail('the call was rejected');
    };
    expect(await verdictOf(checking(check), holdfast)).toEqual({ kind: 'not offered', because: 'not this side of it' });
  });

  it('is that it is not offered also when the scenario ends well, for it was not played as it is written', async () => {
    const check = async (): Promise<void> => {
      await Promise.reject(new NotOffered('not this side of it')).catch(() => {});
    };
    expect(await verdictOf(checking(check), holdfast)).toEqual({ kind: 'not offered', because: 'not this side of it' });
  });

  it('is that it fails when listeners pile up, which is not printed', async () => {
    const check = async (): Promise<void> => {
      const { signal } = new AbortController();
      // From Node 24 on a signal has no limit of its own.
      setMaxListeners(10, signal);
      for (let count = 0; count < 11; count += 1) signal.addEventListener('abort', () => {});
    };
    expect(await verdictOf(checking(check), holdfast)).toMatchObject({
      kind: 'fails',
      because: expect.stringContaining('MaxListenersExceededWarning') as string,
    });
  });

  it('leaves other warnings to those who had listened for them', async () => {
    const listener = vi.fn<(warning: Error) => void>();
    const printers = process.listeners('warning');
    process.removeAllListeners('warning').on('warning', listener);
    try {
      const check = async (): Promise<void> => process.emitWarning('old option', 'DeprecationWarning');
      expect(await verdictOf(checking(check), holdfast)).toEqual({ kind: 'holds' });
    } finally {
      process.removeAllListeners('warning');
      for (const printer of printers) process.on('warning', printer);
    }
    expect(listener).toHaveBeenCalledOnce();
  });
});
