import { describe, expect, it } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { RetryPolicy } from '../policies/retry.js';
import { TimeoutPolicy } from '../policies/timeout.js';
import { DownstreamError, ScriptedDownstream } from './index.js';

useFakeClock();

const context = (attempt = 1): { attempt: number; signal: AbortSignal; controller: AbortController } => {
  const controller = new AbortController();
  return { attempt, signal: controller.signal, controller };
};

describe('a scripted downstream', () => {
  it('does one step per call, and repeats the last one', async () => {
    const downstream = new ScriptedDownstream([{ fail: 503 }, { answer: 'first' }, { answer: 'last' }]);
    const outcomes = [1, 2, 3, 4].map((attempt) => outcomeOf(downstream.call(context(attempt))));
    await microtasks();

    expect(outcomes.map(({ value }) => value)).toMatchObject([{ status: 503 }, 'first', 'last', 'last']);
    expect(downstream.calls).toEqual([
      { attempt: 1, state: 'failed' },
      { attempt: 2, state: 'answered' },
      { attempt: 3, state: 'answered' },
      { attempt: 4, state: 'answered' },
    ]);
  });

  it('fails with a status, or with the very error that it is given', async () => {
    const error = new Error('of its own');
    const downstream = new ScriptedDownstream([{ fail: 422 }, { fail: error }]);

    await expect(downstream.call(context())).rejects.toBeInstanceOf(DownstreamError);
    await expect(downstream.call(context())).rejects.toBe(error);
  });

  it('takes the time that it is told to', async () => {
    const downstream = new ScriptedDownstream([{ answer: 'slow', after: '1.5s' }]);
    const call = outcomeOf(downstream.call(context()));
    await pass(1_499);
    expect([call.state, downstream.running]).toEqual(['pending', 1]);

    await pass(1);
    expect([call.value, downstream.running]).toEqual(['slow', 0]);
  });

  it('ends a call whose signal aborts, and remembers why', async () => {
    const downstream = new ScriptedDownstream([{ answer: 'slow', after: '1h' }, { hang: true }]);
    const contexts = [context(), context()];
    const calls = contexts.map((given) => outcomeOf(downstream.call(given)));
    contexts.forEach(({ controller }) => controller.abort('left'));
    await microtasks();

    expect(calls.map(({ value }) => value)).toEqual(['left', 'left']);
    expect(downstream.calls.map(({ state, reason }) => [state, reason])).toEqual([
      ['cancelled', 'left'],
      ['cancelled', 'left'],
    ]);
    expect(downstream.running).toBe(0);
  });

  it('ends a call whose signal has aborted already', async () => {
    const downstream = new ScriptedDownstream([{ hang: true }]);

    await expect(downstream.call({ attempt: 1, signal: AbortSignal.abort('left') })).rejects.toBe('left');
  });

  it('may ignore its signal, as work does that nobody has told of one', async () => {
    const downstream = new ScriptedDownstream([{ answer: 'late', after: 200 }], { honoursSignal: false });
    const call = outcomeOf(new TimeoutPolicy(100).execute(downstream.call));
    await pass(100);
    expect([call.state, downstream.running]).toEqual(['rejected', 1]);

    await pass(100);
    expect(downstream.calls).toEqual([{ attempt: 1, state: 'answered' }]);
  });

  it('is told which attempt calls it', async () => {
    const downstream = new ScriptedDownstream([{ fail: 503 }, { answer: 'ok' }]);
    const call = outcomeOf(new RetryPolicy({ backoff: { delay: 1 } }).execute(downstream.call));
    await pass(1);

    expect(call.value).toBe('ok');
    expect(downstream.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('needs a step', () => {
    expect(() => new ScriptedDownstream([])).toThrow(/^steps: expected at least one step/);
  });
});
