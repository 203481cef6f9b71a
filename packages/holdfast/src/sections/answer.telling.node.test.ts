import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { subscribe } from '../events.js';
import { TimeoutPolicy } from '../policies/timeout.js';
import { currentScope, type Scope } from '../scope.js';
import { answerScope, observeAnswers, type AnswerObserver } from './answer.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

const missing = () => optional(() => Promise.reject(new Error('down')), { timeout: 50, fallback: null });
const failing = () =>
  optional(
    () => {
      throw new Error('down');
    },
    { timeout: 50, fallback: null },
  );
const hanging = () => optional(() => new Promise(() => {}), { timeout: 50, fallback: null });

/** What listeners of `degraded` find, in order. */
let found: (Scope | undefined)[];
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  found = [];
  stop = subscribe(({ type }) => {
    if (type === 'degraded') found.push(answerScope());
  });
});

afterEach(() => {
  stop();
  vi.useRealTimers();
});

describe('the scope of the answer whose event is told', () => {
  it('is that of the attempt in which the answer was begun, also when a timer of nobody tells it', async () => {
    let attempt: Scope | undefined;
    const answer = new TimeoutPolicy('1s').execute(() => {
      attempt = currentScope();
      return fanOut({ hanging: hanging() }, { minimum: 0 });
    });
    await vi.advanceTimersByTimeAsync(50);
    await answer;

    expect(attempt).toBeDefined();
    expect(found).toEqual([attempt]);
    expect(found[0] === attempt).toBe(true);
  });

  it('is the same for an answer that is detached from its attempt', async () => {
    let attempt: Scope | undefined;
    await new TimeoutPolicy('1s').execute(() => {
      attempt = currentScope();
      return fanOut({ missing: missing() }, { minimum: 0, detached: true });
    });

    expect(found[0] === attempt).toBe(true);
  });

  it('is none outside of attempts', async () => {
    await fanOut({ missing: missing() }, { minimum: 0 });

    expect(found).toEqual([undefined]);
  });

  it('is that of the inner answer while a listener begins another one', async () => {
    const seen: (Scope | undefined)[] = [];
    const answerInside = (): Promise<unknown> => fanOut({ inner: failing() }, { minimum: 0 });
    const stopInner = subscribe((event) => {
      if (event.type !== 'degraded' || event.section !== 'outer') return;

      void new TimeoutPolicy('1s').execute(answerInside);
      seen.push(answerScope());
    });
    await new TimeoutPolicy('1s').execute(() => fanOut({ outer: failing() }, { minimum: 0 }));
    stopInner();

    const [outer, inner] = found;
    expect(found).toHaveLength(2);
    expect(outer === inner).toBe(false);
    expect(seen[0] === outer).toBe(true);
  });

  it('is nobody’s once the event has been told', async () => {
    await new TimeoutPolicy('1s').execute(() => fanOut({ missing: missing() }, { minimum: 0 }));

    expect(answerScope()).toBeUndefined();
  });
});

describe('an observer of answers', () => {
  const told = vi.fn<AnswerObserver>();
  const whole = (options: object): Promise<unknown> => fanOut({ whole: required(() => 1, { timeout: 50 }) }, options);
  let stopObserving: () => void;

  beforeEach(() => {
    told.mockClear();
    stopObserving = observeAnswers(told);
  });

  afterEach(() => stopObserving());

  it('is told of each that is begun inside an attempt, with its name, its budget and that attempt', async () => {
    let attempt: Scope | undefined;
    await new TimeoutPolicy('1s').execute(async () => {
      attempt = currentScope();
      await whole({ name: 'page', budget: 100 });
      await whole({});
    });

    expect(attempt).toBeDefined();
    expect(told.mock.calls).toEqual([
      [{ name: 'page', budgetMs: 100, scope: attempt }],
      [{ name: 'fan-out', budgetMs: Infinity, scope: attempt }],
    ]);
  });

  it('is told nothing of one that is begun outside of attempts, or is detached from its own', async () => {
    await whole({});
    await new TimeoutPolicy('1s').execute(() => whole({ detached: true }));

    expect(told).not.toHaveBeenCalled();
  });

  it('is told nothing any more once it has been stopped', async () => {
    stopObserving();
    await new TimeoutPolicy('1s').execute(() => whole({}));

    expect(told).not.toHaveBeenCalled();
  });
});

describe('the owner of a scope', () => {
  it('is the execution of an attempt while that runs', async () => {
    let inside: Scope | undefined;
    let owner: object | undefined;
    await new TimeoutPolicy('1s').execute(() => {
      inside = currentScope();
      owner = inside?.owner;
    });

    expect(owner).toBeDefined();
    expect(inside?.owner).toBeUndefined();
  });
});
