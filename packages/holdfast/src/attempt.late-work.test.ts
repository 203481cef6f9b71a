import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BulkheadPolicy, createPolicy, fanOut, optional, required, type ResiliencePolicy } from './index.js';

/** A query of a builder: it runs when somebody waits for it. */
class Query implements PromiseLike<unknown> {
  runs = 0;

  constructor(private readonly rows: unknown = 'rows') {}

  // oxlint-disable-next-line unicorn/no-thenable
  then<A, B>(
    onRows?: ((rows: unknown) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.runs += 1;
    return Promise.resolve(this.rows).then(onRows, onError);
  }
}

const left = new Error('the caller has left');
let caller: AbortController;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  caller = new AbortController();
});

afterEach(() => vi.useRealTimers());

const settled = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const bulkhead = (): BulkheadPolicy => new BulkheadPolicy({ maxConcurrent: 1, maxQueue: 1 });

describe('a query that the work has returned', () => {
  const limited = createPolicy({ timeout: '1s' }, 'limited');
  const answered = (query: Query): ResiliencePolicy =>
    createPolicy({ timeout: '1s', fallback: () => query }, 'answered');

  it('runs once, and what it gives is the outcome', async () => {
    const query = new Query();

    expect(await limited.execute(() => query)).toBe('rows');
    expect(query.runs).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('runs when the call is given up a microtask later', async () => {
    const query = new Query();
    const outcome = settled(limited.execute(() => query, { signal: caller.signal }));
    await Promise.resolve();
    caller.abort(left);

    expect(await outcome).toBe(left);
    expect(query.runs).toBe(1);
  });

  it.each([
    ['by its own work', (query: Query) => limited.execute(() => leaving(query), { signal: caller.signal })],
    ['in the same tick', (query: Query) => leavingAfter(limited.execute(() => query, { signal: caller.signal }))],
    [
      'in the same tick, while it is the answer of a fallback',
      (query: Query) => leavingAfter(answered(query).execute(failing, { signal: caller.signal })),
    ],
    [
      'in the same tick, while it is a section',
      (query: Query) =>
        leavingAfter(fanOut({ rows: required(() => query, { timeout: '1s' }) }, { signal: caller.signal })),
    ],
  ])('does not run any more when the call is given up %s', async (_, call) => {
    const query = new Query();

    expect(await settled(call(query))).toBe(left);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(query.runs).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives its slot back when it does not run any more', async () => {
    const slots = bulkhead();
    const query = new Query();

    expect(await settled(leavingAfter(slots.execute(() => query, { signal: caller.signal })))).toBe(left);
    await vi.advanceTimersByTimeAsync(0);
    expect(slots).toMatchObject({ active: 0, abandoned: 0 });
    expect(query.runs).toBe(0);
  });

  const leaving = (query: Query): Query => {
    caller.abort(left);
    return query;
  };

  const leavingAfter = <T>(outcome: Promise<T>): Promise<T> => {
    caller.abort(left);
    return outcome;
  };

  const failing = (): never => {
    throw new Error('down');
  };
});

describe('work that has not begun when its call is given up', () => {
  it('does not begin with a slot that is given back in the same tick', async () => {
    const slots = bulkhead();
    let free!: () => void;
    const first = slots.execute(() => new Promise<void>((resolve) => (free = resolve)));
    const work = vi.fn();
    const second = settled(slots.execute(work, { signal: caller.signal }));
    free();
    caller.abort(left);

    await first;
    expect(await second).toBe(left);
    expect(work).not.toHaveBeenCalled();
    expect(slots).toMatchObject({ active: 0, queued: 0 });
  });

  it('does not begin as a section whose values come in the same tick', async () => {
    let answer!: (value: unknown) => void;
    const product = required(() => new Promise((resolve) => (answer = resolve)), { timeout: '1s' });
    const work = vi.fn();
    const similar = optional(work, { after: { product }, timeout: '1s', fallback: [] });
    const page = settled(fanOut({ product, similar }, { signal: caller.signal }));
    await vi.advanceTimersByTimeAsync(0);
    answer('a lamp');
    caller.abort(left);

    expect(await page).toBe(left);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(work).not.toHaveBeenCalled();
  });

  it('does not begin as the fallback of a section', async () => {
    const fallback = vi.fn();
    const reviews = optional(() => new Promise(() => {}), { timeout: '1s', fallback });
    const page = settled(fanOut({ reviews }, { signal: caller.signal }));
    await vi.advanceTimersByTimeAsync(500);
    caller.abort(left);
    await page;
    await vi.advanceTimersByTimeAsync(1_000);

    expect(fallback).not.toHaveBeenCalled();
  });
});
