import '../install.js';
import { BulkheadPolicy, FallbackPolicy, ResiliencePolicy, RetryPolicy } from 'holdfast';
import { firstValueFrom, from } from 'rxjs';
import { describe, expect, it } from 'vitest';

const hostile = new Error('not to be looked at');
const refuse = (): never => {
  throw hostile;
};

/** What does not let itself be looked at in one way or another. */
const closed = () => new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse });

describe('a value that does not let itself be looked at', () => {
  it('is a failure of the factory that returns it', async () => {
    const pool = new BulkheadPolicy({ maxConcurrent: 1 });
    const stream = ResiliencePolicy.wrap(new RetryPolicy({ attempts: 2, backoff: { delay: 0 } }), pool);

    await expect(firstValueFrom(stream.executeObservable(closed))).rejects.toBe(hostile);
    expect(pool.active).toBe(0);
  });

  it('is passed on when a stream emits it', async () => {
    const value = closed();
    const emitted: unknown[] = [];
    ResiliencePolicy.wrap()
      .executeObservable(() => from([value]))
      .subscribe((one) => emitted.push(one));

    expect(emitted).toHaveLength(1);
    expect(emitted[0] === value).toBe(true);
  });

  it('is the failure of the fallback that answers with it', async () => {
    const stream = new FallbackPolicy(closed).executeObservable(() => {
      throw new Error('down');
    });

    await expect(firstValueFrom(stream)).rejects.toBe(hostile);
  });
});

describe('a value that looks like something of RxJS', () => {
  it('is a value: an object with a method schedule()', async () => {
    const job = { schedule: () => 'later' };

    expect(await firstValueFrom(ResiliencePolicy.wrap().executeObservable(() => job))).toBe(job);
  });
});

/** A thenable that does not keep the rules of promises. */
const thenable = (then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void) => ({ then });

describe('a thenable that is no promise', () => {
  it.each([
    ['returns nothing', thenable((resolve) => resolve('first'))],
    [
      'settles more than once',
      thenable((resolve, reject) => {
        resolve('first');
        reject(hostile);
        resolve('second');
      }),
    ],
    [
      'throws after it has settled',
      thenable((resolve) => {
        resolve('first');
        throw hostile;
      }),
    ],
  ])('counts as what it settles with first: its then() %s', async (_case, result) => {
    const heard: unknown[] = [];
    await new Promise<void>((resolve) => {
      ResiliencePolicy.wrap()
        .executeObservable(() => result as unknown as PromiseLike<unknown>)
        .subscribe({ next: (value) => heard.push(value), error: heard.push.bind(heard), complete: resolve });
    });

    expect(heard).toEqual(['first']);
  });

  it('fails with what its then() throws', async () => {
    const stream = ResiliencePolicy.wrap().executeObservable(() => thenable(refuse) as unknown as PromiseLike<unknown>);

    await expect(firstValueFrom(stream)).rejects.toBe(hostile);
  });
});
