import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../test/fake-clock.js';
import { adaptive } from './adaptive/adaptive-timeout.js';
import type { Attempt } from './attempt.js';
import { Deadline } from './deadline.js';
import { Execution, type ExecuteOptions, type Work } from './execution.js';
import { Pipeline } from './pipeline.js';
import { host } from '#host';
import { FallbackPolicy } from './policies/fallback.js';
import { RetryPolicy } from './policies/retry.js';
import { TimeoutPolicy } from './policies/timeout.js';
import type { ResiliencePolicy } from './policy.js';
import { EventRecorder } from './testing/index.js';

const down = new Error('down');
const limit = new TimeoutPolicy(10);

/** An execution whose outcome can leave bit by bit, as that of a stream does. */
class StreamedExecution extends Execution {
  committed = false;
  readonly attempts: Attempt[] = [];
  readonly outcomes: [boolean, unknown][] = [];

  constructor({ pipeline }: ResiliencePolicy, options?: ExecuteOptions) {
    super(pipeline, options);
  }

  override isCommitted(): boolean {
    return this.committed;
  }

  /** The first of it leaves. */
  commit(): void {
    this.committed = true;
    this.tellCommit();
  }

  performWork(attempt: Attempt): void {
    this.attempts.push(attempt);
  }

  protected performHandler(attempt: Attempt, handler: Work): void {
    this.settle(attempt, true, handler(attempt));
  }

  protected deliver(ok: boolean, value: unknown): void {
    this.outcomes.push([ok, value]);
  }

  get last(): Attempt {
    return this.attempts.at(-1) as Attempt;
  }
}

function started(policy: ResiliencePolicy): StreamedExecution {
  const execution = new StreamedExecution(policy);
  execution.start();

  return execution;
}

useFakeClock();

describe('the first that leaves of an outcome', () => {
  it('is what a limit learns from, and how long the rest took is not', async () => {
    const learned = adaptive({ initial: 100, shadow: true });
    const record = vi.spyOn(learned, 'record');
    const execution = started(new TimeoutPolicy(learned));
    await pass(7);
    execution.commit();
    await pass(50);
    execution.settle(execution.last, true, 'the end');

    expect(record.mock.calls).toEqual([[7]]);
    expect(execution.outcomes).toEqual([[true, 'the end']]);
  });

  it('is nothing to a limit that is fixed', () => {
    const execution = started(limit);
    execution.commit();
    execution.settle(execution.last, true, 'the end');

    expect(execution.outcomes).toEqual([[true, 'the end']]);
  });
});

describe('a fallback handler', () => {
  it('is told, beside the attempt, what the framework says the call is about', () => {
    const handler = vi.fn(() => 'instead');
    const execution = started(new FallbackPolicy(handler));
    vi.spyOn(execution, 'subject', 'get').mockReturnValue('the request');
    execution.settle(execution.last, false, down);

    expect(handler.mock.calls).toEqual([[down, expect.anything(), 'the request']]);
  });
});

describe('an outcome of which something has left', () => {
  it('is not repeated, and retryIf is not asked', () => {
    const retryIf = vi.fn(() => true);
    const policy = new RetryPolicy({ retryIf });
    const recorder = new EventRecorder(policy);
    const execution = started(policy);
    execution.committed = true;
    execution.settle(execution.last, false, down);

    expect(execution.outcomes).toEqual([[false, down]]);
    expect(retryIf).not.toHaveBeenCalled();
    expect(recorder.events).toEqual([]);
  });

  it('is not replaced, and handleIf is not asked', () => {
    const handleIf = vi.fn(() => true);
    const handler = vi.fn(() => 'answer');
    const execution = started(new FallbackPolicy(handler, { handleIf }));
    execution.committed = true;
    execution.settle(execution.last, false, down);

    expect(execution.outcomes).toEqual([[false, down]]);
    expect(handleIf).not.toHaveBeenCalled();
    expect(handler).not.toHaveBeenCalled();
  });

  it('is no longer limited: nothing happens when the time is over, and the timer does not start again', async () => {
    const recorder = new EventRecorder(limit);
    const execution = started(limit);
    execution.committed = true;
    await pass(10);

    expect(execution.last.signal.aborted).toBe(false);
    expect(recorder.events).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    execution.settle(execution.last, true, 'the end');
    expect(execution.outcomes).toEqual([[true, 'the end']]);
  });

  it('is not cut either when it begins to leave in a listener of the timeout', async () => {
    const policy = new TimeoutPolicy(10);
    const execution = started(policy);
    policy.subscribe(() => (execution.committed = true));
    await pass(10);

    expect(execution.last.signal.aborted).toBe(false);
    execution.settle(execution.last, true, 'the end');
    expect(execution.outcomes).toEqual([[true, 'the end']]);
  });

  it('is not cut by a deadline that was over before, and waited for input that was there', async () => {
    const execution = new StreamedExecution(new TimeoutPolicy(100));
    const deadline = Deadline.after(50);
    deadline.keeper = { lifted: false, dueAt: Infinity, expire: () => {} };
    execution.deadline = deadline;
    execution.start();
    const pending: (() => void)[] = [];
    vi.spyOn(host, 'afterPendingInput').mockImplementation((callback) => void pending.push(callback));
    await pass(51);
    execution.commit();
    for (const callback of pending) callback();

    expect(pending).toHaveLength(1);
    expect(execution.last.signal.aborted).toBe(false);
    execution.settle(execution.last, true, 'the end');
    expect(execution.outcomes).toEqual([[true, 'the end']]);
  });

  it('is limited, replaced and repeated as long as nothing has', async () => {
    const execution = started(limit);
    await pass(10);
    expect(execution.outcomes).toMatchObject([[false, { code: 'TIMEOUT' }]]);

    const replaced = started(new FallbackPolicy(() => 'answer'));
    replaced.settle(replaced.last, false, down);
    expect(replaced.outcomes).toEqual([[true, 'answer']]);

    const repeated = started(new RetryPolicy({ backoff: { delay: 1 } }));
    repeated.settle(repeated.last, false, down);
    await pass(1);
    expect(repeated.attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    repeated.settle(repeated.last, true, 'second');
  });
});

describe('an outcome', () => {
  it('is delivered once, whatever comes later', async () => {
    const controller = new AbortController();
    const execution = new StreamedExecution(limit, { signal: controller.signal });
    execution.start();
    const { last } = execution;
    execution.settle(last, true, 'first');
    execution.settle(last, false, down);
    controller.abort();
    await pass(100);

    expect(execution.outcomes).toEqual([[true, 'first']]);
  });

  it('is delivered once when a listener gives the call up that is about to be given up', async () => {
    const controller = new AbortController();
    const policy = new TimeoutPolicy(10);
    policy.subscribe(() => controller.abort(down));
    const execution = new StreamedExecution(policy, { signal: controller.signal });
    execution.start();
    await pass(10);

    expect(execution.outcomes).toEqual([[false, down]]);
  });

  it('of an attempt that was given up is not heard', async () => {
    const execution = started(limit);
    const { last } = execution;
    await pass(10);
    execution.settle(last, true, 'too late');

    expect(execution.outcomes).toMatchObject([[false, { code: 'TIMEOUT' }]]);
  });
});

describe('a pipeline', () => {
  it('knows where its outermost limit is', () => {
    const [retry, outer, inner] = [new RetryPolicy(), new TimeoutPolicy(300), new TimeoutPolicy(() => 5)];

    expect(new Pipeline([retry, outer, inner]).outermostLimit).toBe(1);
    expect(new Pipeline([retry]).outermostLimit).toBe(1);
    expect(new Pipeline([retry, outer, inner]).limits).toBe(true);
    expect(new Pipeline([retry]).limits).toBe(false);
  });

  it('knows the longest fixed limit inside of each stage', () => {
    const pipeline = new Pipeline([
      new TimeoutPolicy(500),
      new TimeoutPolicy(100),
      new TimeoutPolicy(300),
      new TimeoutPolicy(() => 900),
    ]);

    expect([0, 1, 2, 3].map((at) => pipeline.limitInside(at))).toEqual([300, 300, 0, 0]);
  });
});
