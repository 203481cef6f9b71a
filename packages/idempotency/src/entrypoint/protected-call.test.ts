import { ConflictException, HttpException } from '@nestjs/common';
import { fanOut, optional, required } from 'holdfast';
import { AsyncLocalStorage } from 'node:async_hooks';
import { concat, defer, EMPTY, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { HOUR, pass, SECOND, STORE_TIMEOUT, takeLog, useMachine } from '../../test/machine.js';
import { Caller, ProtectedHandler } from '../../test/protected-handler.js';
import { HANGS, rejects } from '../../test/scripted-store.js';
import { IdempotencyRejectedError } from '../execution/rejection.js';
import { logger } from '../log.js';

useMachine();

const after = <T>(ms: number, value: T): Observable<T> =>
  defer(() => new Promise<T>((resolve) => setTimeout(() => resolve(value), ms)));

describe('A protected handler', () => {
  it('answers when its outcome is stored, and not before', async () => {
    const handler = new ProtectedHandler();
    handler.store.script('complete', { does: 400 });
    const caller = handler.request(() => after(100, { id: 1 }));
    await pass(499);
    expect([caller.values, handler.runs]).toEqual([[], 1]);
    await pass(1);

    expect([caller.values, caller.ended, handler.events$]).toEqual([[{ id: 1 }], true, ['executed', 'stored']]);
  });

  it('does not run for a repeated call, which gets its answer', async () => {
    const handler = new ProtectedHandler();
    handler.request(() => of({ at: new Date(0), big: 10n }));
    await pass(0);
    const again = handler.request(() => of('never'));
    await pass(0);

    expect([again.values, again.ended, handler.runs]).toEqual([[{ at: new Date(0), big: 10n }], true, 1]);
  });

  it('has records of its own where one key is for several, apart from those of other kinds of calls', async () => {
    const handler = new ProtectedHandler();
    Object.assign(handler.transport, { context: 'graphql', placeOf: () => 'account.charge' });
    handler.request(() => of(1));
    await pass(0);

    expect(handler.store.memory.peek('k@graphql.account.charge')?.state).toBe('completed');
  });

  it('runs unprotected without a key, and the store is not asked', async () => {
    const handler = new ProtectedHandler();
    handler.keyReading = { kind: 'missing' };
    const caller = handler.request(() => of(1, 2));
    await pass(0);

    expect([caller.values, caller.ended, handler.store.asked, handler.told]).toEqual([[1, 2], true, [], []]);
  });

  it.each([
    [{ kind: 'missing' }, 'IDEMPOTENCY_KEY_REQUIRED', 'This call needs an idempotency key'],
    [{ kind: 'invalid', problem: 'is too long' }, 'IDEMPOTENCY_KEY_INVALID', 'The idempotency key is too long'],
  ] as const)('refuses a key that is %j without asking the store', async (reading, code, message) => {
    const handler = new ProtectedHandler({ required: true });
    handler.keyReading = reading;
    const caller = handler.request(() => of(1));
    await pass(0);

    expect(caller.error).toMatchObject({ code, message, status: 400 });
    expect([handler.runs, handler.store.asked]).toEqual([0, []]);
    expect(handler.told).toEqual([
      { type: 'rejected', context: 'http', handler: 'Payments.create', code, status: 400 },
    ]);
  });

  it('refuses also where its transport cannot tell whether anybody would hear of it', async () => {
    const handler = new ProtectedHandler({ required: true });
    handler.keyReading = { kind: 'missing' };
    vi.spyOn(handler, 'dropsRejected').mockImplementation(() => {
      throw new TypeError('no metadata');
    });
    const caller = handler.request(() => of(1));
    await pass(0);

    expect(caller.error).toMatchObject({ code: 'IDEMPOTENCY_KEY_REQUIRED', status: 400 });
  });

  it.each([new Error('broken'), 'text', undefined])(
    'passes on what it throws, %s, and gives the key back',
    async (error) => {
      const handler = new ProtectedHandler();
      const caller = handler.request(() => throwError(() => error));
      await pass(0);

      expect([caller.ended, caller.error]).toEqual([true, error]);
      expect([handler.events$, handler.store.memory.size]).toEqual([['executed', 'released:outcome'], 0]);
    },
  );

  it('that throws before it returns anything has failed like any other', async () => {
    const handler = new ProtectedHandler();
    const error = new HttpException('declined', 402);
    const caller = handler.request(() => {
      throw error;
    });
    await pass(0);
    const again = handler.request(() => of('never'));
    await pass(0);

    expect(caller.error).toBe(error);
    expect([(again.error as HttpException).getStatus(), handler.runs]).toEqual([402, 1]);
  });

  it('does not use up its key with an error that may pass', async () => {
    const handler = new ProtectedHandler();
    handler.request(() => throwError(() => new ConflictException()));
    await pass(0);

    expect([handler.events$.at(-1), handler.store.memory.size]).toEqual(['released:outcome', 0]);
  });

  it('completes without a value: nothing is kept, warned of once', async () => {
    const handler = new ProtectedHandler();
    const caller = handler.request(() => EMPTY);
    await pass(0);
    handler.request(() => EMPTY);
    await pass(0);

    expect([caller.values, caller.ended, handler.runs]).toEqual([[], true, 2]);
    expect(takeLog()).toEqual([expect.stringMatching(/^warn: Payments\.create\(\) completed without a value/)]);
  });

  it('gives its key back also when the logger throws that warns of it', async () => {
    const handler = new ProtectedHandler();
    vi.spyOn(logger, 'warn').mockImplementation(() => {
      throw new Error('disk full');
    });
    const caller = handler.request(() => EMPTY);
    await pass(0);

    expect([caller.ended, handler.store.memory.size, handler.running.size]).toEqual([true, 0, 0]);
  });

  it('of several values answers with the last, and keeps that', async () => {
    const handler = new ProtectedHandler();
    const caller = handler.request(() => of(1, 2, 3));
    await pass(0);

    expect([caller.values, handler.kept]).toEqual([[3], 3]);
  });

  it('has its caller’s context, and so has who gets its answer', async () => {
    const handler = new ProtectedHandler();
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    handler.store.script('acquire', { answers: 10 });
    handler.store.script('complete', { answers: 10 });
    context.run('request 1', () => {
      const answers = handler.answers(() =>
        defer(async () => {
          await null;
          seen.push(context.getStore());
        }),
      );
      new Caller().listen(answers, () => seen.push(context.getStore()));
    });
    context.run('request 2', () => void handler.bounded.release('other', 'other').then(() => {}));
    await pass(20);

    expect(seen).toEqual(['request 1', 'request 1']);
  });
});

describe('An outcome that cannot be looked at', () => {
  const cases: readonly (readonly [string, (error: unknown) => ProtectedHandler, unknown])[] = [
    [
      'storeIf throws',
      (error) =>
        new ProtectedHandler({
          storeIf: () => {
            throw error;
          },
        }),
      1,
    ],
    [
      'a getter of it throws',
      () => new ProtectedHandler(),
      {
        get x(): never {
          throw new Error('no');
        },
      },
    ],
    [
      'its toJSON throws',
      () => new ProtectedHandler(),
      {
        toJSON: () => {
          throw Object.create(null) as Error;
        },
      },
    ],
    ['storeIf returns a promise', () => new ProtectedHandler({ storeIf: (async () => true) as never }), 1],
    [
      'storeIf returns a promise that fails',
      () =>
        new ProtectedHandler({
          storeIf: (async () => {
            throw new Error('later');
          }) as never,
        }),
      1,
    ],
  ];

  it.each(cases)('since %s is answered all the same; it is logged, and the key free', async (...given) => {
    const [, make, value] = given;
    const handler = make(new Error('hostile'));
    const caller = handler.request(() => of(value));
    await pass(0);

    expect([caller.values, caller.ended]).toEqual([[value], true]);
    expect([handler.events$, handler.store.memory.size, handler.running.size]).toEqual([
      ['executed', 'released:unstorable'],
      0,
      0,
    ]);
    expect(takeLog()).toEqual([expect.stringMatching(/^error: .*the outcome could not be looked at, and is not kept/)]);
  });
});

describe('storeIf', () => {
  it('is given the status, and the error only when there is one', async () => {
    const storeIf = vi.fn(() => false);
    const handler = new ProtectedHandler({ storeIf });
    const error = new HttpException('gone', 410);
    handler.request(() => of(1));
    await pass(0);
    handler.request(() => throwError(() => error));
    await pass(0);

    expect(storeIf.mock.calls).toEqual([[201], [410, error]]);
    expect(handler.events$).toEqual(['executed', 'released:outcome', 'executed', 'released:outcome']);
  });

  it('makes an unknown error final, without its message', async () => {
    const handler = new ProtectedHandler({ storeIf: () => true });
    handler.request(() => throwError(() => new Error('password wrong')));
    await pass(0);
    const again = handler.request(() => of(1));
    await pass(0);

    expect((again.error as HttpException).getResponse()).toEqual({ statusCode: 500, message: 'Internal server error' });
    expect(JSON.stringify(handler.store.memory.peek('k'))).not.toContain('password');
  });
});

describe('maxBodySize', () => {
  it.each([
    [10, true],
    [9, false],
  ])('of %i bytes: an answer of ten is kept (%s)', async (maxBodySize, isKept) => {
    const handler = new ProtectedHandler({ maxBodySize });
    const caller = handler.request(() => of('123456é'));
    await pass(0);

    expect([caller.values, handler.events$.at(-1)]).toEqual([['123456é'], isKept ? 'stored' : 'released:too-large']);
    expect(takeLog()).toHaveLength(isKept ? 0 : 1);
  });
});

describe('A partial response, on a transport that has no marks for it,', () => {
  const partial = () =>
    fanOut({
      order: required(async () => 1, { timeout: '1s' }),
      reviews: optional(() => Promise.reject(new Error('down')), { timeout: '1s', fallback: null }),
    });

  it.each([
    [true, 'stored'],
    [false, 'released:outcome'],
  ])('is kept, unless storePartial says otherwise: with %s it is %s', async (storePartial, event) => {
    const handler = new ProtectedHandler({ storePartial });
    const caller = handler.request(() => defer(partial));
    await pass(0);

    expect(caller.values).toEqual([expect.objectContaining({ data: { order: 1, reviews: null }, partial: true })]);
    expect(handler.events$.at(-1)).toBe(event);
  });
});

describe('A caller who leaves', () => {
  const hold = <T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } => {
    let resolve: (value: T) => void = () => {};
    const promise = new Promise<T>((resolveIt) => (resolve = resolveIt));

    return { promise, resolve };
  };

  it('while his key is looked for is forgotten', async () => {
    const handler = new ProtectedHandler();
    const key = hold<{ kind: 'key'; key: string }>();
    handler.keyReading = key.promise;
    const caller = handler.request(() => of(1));
    caller.leave();
    key.resolve({ kind: 'key', key: 'k' });
    await pass(0);

    expect([handler.runs, handler.store.asked, caller.ended]).toEqual([0, [], false]);
  });

  it('while scope or fingerprint are made is forgotten', async () => {
    const scope = hold<string>();
    const handler = new ProtectedHandler({
      scope: () => scope.promise,
      fingerprint: async (payload) => payload as string,
    });
    const caller = handler.request(() => of(1));
    await pass(0);
    caller.leave();
    scope.resolve('user-7');
    await pass(0);

    expect([handler.runs, handler.store.asked]).toEqual([0, []]);
  });

  it('before his call without a key has begun is forgotten', async () => {
    const handler = new ProtectedHandler();
    const key = hold<{ kind: 'missing' }>();
    handler.keyReading = key.promise;
    handler.request(() => of(1)).leave();
    key.resolve({ kind: 'missing' });
    await pass(0);

    expect(handler.runs).toBe(0);
  });

  it('while the lock is taken leaves none behind, and his handler does not run', async () => {
    const handler = new ProtectedHandler();
    handler.store.script('acquire', { answers: 100 });
    const caller = handler.request(() => of(1));
    await pass(50);
    caller.leave();
    await pass(50);

    expect([handler.runs, handler.store.memory.size, handler.running.size]).toEqual([0, 0, 0]);
    expect(handler.events$).toEqual(['released:unsubscribed']);
  });

  it('while the lock is taken by a store that fails is not run for unprotected either', async () => {
    const handler = new ProtectedHandler({ onStoreError: 'run' });
    handler.store.script('acquire', HANGS);
    const caller = handler.request(() => of(1));
    await pass(0);
    caller.leave();
    await pass(STORE_TIMEOUT);

    expect(handler.runs).toBe(0);
    takeLog();
  });

  it('while the handler runs does not stop it: its outcome is stored', async () => {
    const handler = new ProtectedHandler();
    const caller = handler.request(() => after(100, 'charged'));
    await pass(50);
    caller.leave();
    await pass(50);

    expect([handler.kept, caller.values, caller.ended]).toEqual(['charged', [], false]);
  });

  it('while the handler runs, which then fails, leaves the key free', async () => {
    const handler = new ProtectedHandler();
    const caller = handler.request(() =>
      concat(
        after(100, 1),
        throwError(() => new Error('late')),
      ),
    );
    await pass(50);
    caller.leave();
    await pass(50);

    expect([handler.store.memory.size, caller.error]).toEqual([0, undefined]);
  });

  it('while the outcome is written changes nothing', async () => {
    const handler = new ProtectedHandler();
    handler.store.script('complete', { does: 100 });
    const caller = handler.request(() => of('charged'));
    await pass(50);
    caller.leave();
    await pass(50);

    expect([handler.kept, handler.running.size, caller.values]).toEqual(['charged', 0, []]);
  });

  it('while he waits for another call takes no lock', async () => {
    const handler = new ProtectedHandler({ onInFlight: 'wait' });
    await handler.takenByAnother('k', 300);
    handler.payload = undefined;
    const caller = handler.request(() => of(1));
    await pass(0);
    caller.leave();
    await pass(HOUR);

    expect([handler.runs, handler.store.memory.size]).toEqual([0, 0]);
  });

  it('of a handler without protection stops it', async () => {
    const handler = new ProtectedHandler();
    handler.keyReading = { kind: 'missing' };
    const stopped = vi.fn();
    const caller = handler.request(() => new Observable(() => stopped));
    await pass(0);
    caller.leave();

    expect(stopped).toHaveBeenCalledOnce();
  });

  it('once he has his answer leaves nothing', async () => {
    const handler = new ProtectedHandler();
    const caller = handler.request(() => of(1));
    await pass(0);
    caller.leave();
    await pass(SECOND);

    expect([handler.events$, vi.getTimerCount()]).toEqual([['executed', 'stored'], 0]);
  });
});

describe('Where several values make a stream', () => {
  const streaming = (): ProtectedHandler => {
    const handler = new ProtectedHandler();
    Object.assign(handler.transport, { answersOnce: false });

    return handler;
  };

  it('one value is an answer, and is kept', async () => {
    const handler = streaming();
    const caller = handler.request(() => of('one'));
    await pass(0);

    expect([caller.values, handler.kept]).toEqual([['one'], 'one']);
  });

  it('they pass as they come from the second on, nothing is kept, and the key is free at the end', async () => {
    const handler = streaming();
    const values = new Subject<unknown>();
    const caller = handler.request(() => values);
    await pass(0);
    values.next(1);
    expect(caller.values).toEqual([]);
    values.next(2);
    expect(caller.values).toEqual([1, 2]);
    values.next(3);
    expect([caller.values, handler.isLocked]).toEqual([[1, 2, 3], true]);
    values.complete();
    await pass(0);

    expect([caller.ended, handler.store.memory.size, handler.events$.at(-1)]).toEqual([true, 0, 'released:unstorable']);
    expect(takeLog()).toEqual([expect.stringMatching(/^warn: Payments\.create\(\) answered with a stream/)]);
  });

  it('one that fails gives its error to the caller, and the key back', async () => {
    const handler = streaming();
    const error = new HttpException('gone', 410);
    const caller = handler.request(() =>
      concat(
        of(1, 2),
        throwError(() => error),
      ),
    );
    await pass(0);

    expect([caller.values, caller.error, handler.store.memory.size]).toEqual([[1, 2], error, 0]);
    takeLog();
  });

  it('one whose caller leaves is stopped, and its key given back', async () => {
    const handler = streaming();
    const stopped = vi.fn();
    const caller = handler.request(() => concat(of(1, 2), new Observable<never>(() => stopped)));
    await pass(0);
    caller.leave();
    await pass(0);

    expect([stopped.mock.calls.length, handler.store.memory.size, handler.running.size]).toEqual([1, 0, 0]);
    takeLog();
  });

  it('one that becomes a stream after its caller has left is stopped at its second value', async () => {
    const handler = streaming();
    const values = new Subject<unknown>();
    const caller = handler.request(() => values);
    await pass(0);
    values.next(1);
    caller.leave();
    expect(values.observed).toBe(true);
    values.next(2);
    values.next(3);
    await pass(0);

    expect([values.observed, caller.values, handler.store.memory.size]).toEqual([false, [], 0]);
    takeLog();
  });

  it('one that its caller leaves at a value, while it is being made, is stopped', async () => {
    const handler = streaming();
    const made: number[] = [];
    const caller = new Caller();
    const source = new Observable<number>((subscriber) => {
      for (let value = 1; value <= 10 && !subscriber.closed; value++) {
        made.push(value);
        subscriber.next(value);
      }
      subscriber.complete();
    });
    caller.listen(
      handler.answers(() => source),
      (value) => value === 2 && caller.leave(),
    );
    await pass(0);

    expect([made.length < 10, caller.values, handler.store.memory.size]).toEqual([true, [1, 2], 0]);
    takeLog();
  });
});

describe('A transport that throws', () => {
  it('while a refusal is written ends the call with that, and not the process', async () => {
    const handler = new ProtectedHandler({ required: true });
    handler.keyReading = { kind: 'missing' };
    const sent = new Error('Cannot set headers after they are sent to the client');
    Object.assign(handler.transport, {
      reject: () => {
        throw sent;
      },
    });
    const caller = handler.request(() => of(1));
    await pass(0);

    expect(caller.error).toBe(sent);
  });

  it.each(['keyOf', 'identityOf', 'payloadOf', 'placeOf', 'userOf'] as const)(
    'in %s() ends the call, and no handler runs',
    async (method) => {
      const handler = new ProtectedHandler({ scope: () => 'a' });
      const error = new Error('no');
      Object.assign(handler.transport, {
        [method]: () => {
          throw error;
        },
      });
      const caller = handler.request(() => of(1));
      await pass(0);

      expect([caller.error, handler.runs, handler.store.asked, handler.told]).toEqual([error, 0, [], []]);
    },
  );

  it('while an answer is replayed ends the call with that', async () => {
    const handler = new ProtectedHandler();
    handler.request(() => of(1));
    await pass(0);
    const error = new Error('no');
    Object.assign(handler.transport, {
      replay: () => {
        throw error;
      },
    });
    const caller = handler.request(() => of(1));
    await pass(0);

    expect([caller.error, handler.runs]).toEqual([error, 1]);
  });
});

describe('The functions of an application', () => {
  it.each([
    [
      'scope',
      {
        scope: () => {
          throw new Error('scope');
        },
      },
    ],
    [
      'scope',
      {
        scope: async () => {
          throw new Error('scope');
        },
      },
    ],
    [
      'fingerprint',
      {
        fingerprint: () => {
          throw new Error('fingerprint');
        },
      },
    ],
    [
      'fingerprint',
      {
        fingerprint: async () => {
          throw new Error('fingerprint');
        },
        scope: async () => {
          throw new Error('fingerprint');
        },
      },
    ],
  ])('fail the call when %s throws or rejects: it is not run without it', async (message, options) => {
    const handler = new ProtectedHandler(options);
    const caller = handler.request(() => of(1));
    await pass(0);

    expect(caller.error).toMatchObject({ message });
    expect([handler.runs, handler.store.asked]).toEqual([0, []]);
  });

  it('name a scope that is part of the record’s key, of its fingerprint and of what is told', async () => {
    const handler = new ProtectedHandler({ scope: (user: string) => user });
    handler.user = 'a';
    handler.request(() => of('of a'));
    await pass(0);
    const record = handler.store.memory.peek('a:k');
    expect(record).toMatchObject({ state: 'completed', response: { body: 'of a' } });
    expect(handler.told.map((event) => 'scope' in event && event.scope)).toEqual(['a', 'a']);

    // As if somebody had copied the record of another user.
    await handler.store.memory.acquire('b:k', 'copy', record?.fingerprint ?? '', HOUR);
    handler.user = 'b';
    const other = handler.request(() => of('never'));
    await pass(0);
    expect(other.error).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 });
  });

  it('are told the context of the call', async () => {
    const scope = vi.fn(() => 'a');
    const fingerprint = vi.fn((payload: unknown) => payload);
    const handler = new ProtectedHandler({ scope, fingerprint });
    handler.user = { id: 7 };
    handler.request(() => of(1));
    await pass(0);

    const context = expect.objectContaining({ isContext: true }) as unknown;
    expect([scope.mock.calls, fingerprint.mock.calls]).toEqual([[[{ id: 7 }, context]], [['payload', context]]]);
  });

  it('are asked side by side: a call waits for the slower of them alone', async () => {
    const slowly = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), 100));
    const handler = new ProtectedHandler({ scope: () => slowly('user-7'), fingerprint: () => slowly('body') });
    const caller = handler.request(() => of(1));
    await pass(99);
    expect(handler.runs).toBe(0);
    await pass(1);

    expect(caller.values).toEqual([1]);
  });

  it('that name no scope for a signed-in user refuse the call', async () => {
    const handler = new ProtectedHandler({ scope: (user: { idd?: string }) => user.idd });
    handler.user = { id: 'user-7' };
    const caller = handler.request(() => of(1));
    await pass(0);

    expect(caller.error).toBeInstanceOf(IdempotencyRejectedError);
    expect(caller.error).toMatchObject({ code: 'IDEMPOTENCY_SCOPE_MISSING', status: 500 });
    expect([handler.runs, handler.store.asked]).toEqual([0, []]);
    expect(takeLog()).toEqual([expect.stringContaining('Payments.create')]);
  });

  it.each([undefined, null, false])(
    'may name no scope where %j stands for the user: nobody is signed in',
    async (user) => {
      const handler = new ProtectedHandler({ scope: () => undefined });
      handler.user = user;
      const caller = handler.request(() => of(1));
      await pass(0);

      expect(caller.values).toEqual([1]);
      expect(takeLog()).toEqual([expect.stringContaining('was called without a user and without a scope')]);
    },
  );

  it.each([false, { http: false }] as const)('are not asked with scope: %j', async (scope) => {
    const handler = new ProtectedHandler({ scope });
    handler.user = { id: 'user-7' };
    const caller = handler.request(() => of(1));
    await pass(0);

    expect([caller.values, takeLog()]).toEqual([[1], []]);
  });

  it('without a user share one namespace, and a handler with users and no scope too: warned of once', async () => {
    const handler = new ProtectedHandler();
    handler.user = { id: 'user-7' };
    for (let time = 0; time < 3; time++) {
      handler.request(() => of(1));
      await pass(0);
    }

    expect(takeLog()).toEqual([
      expect.stringMatching(/^warn: Payments\.create\(\) has no scope although users sign in/),
    ]);
  });
});

describe('A handler that never ends', () => {
  it('keeps its key until maxLockHold is over, and its caller waiting', async () => {
    const handler = new ProtectedHandler({ lockTtl: '1s', maxLockHold: '10s' });
    const caller = handler.request(() => NEVER);
    await pass(10 * SECOND);
    expect([handler.isLocked, caller.ended]).toEqual([true, false]);
    await pass(SECOND);

    expect([handler.isLocked, vi.getTimerCount()]).toEqual([false, 0]);
    takeLog();
  });
});

describe('A handler that has lost its lock', () => {
  it('and finishes all the same, gives its late answer to its own caller, and to nobody else', async () => {
    const handler = new ProtectedHandler({ lockTtl: '3s' });
    const caller = handler.request(() => after(5 * SECOND, 'mine'));
    await pass(0);
    handler.store.memory.clear();
    const another = await handler.takenByAnother();
    await pass(5 * SECOND);

    expect([caller.values, caller.ended, caller.error]).toEqual([['mine'], true, undefined]);
    expect(handler.events$).toEqual(['lock-lost:extend', 'executed']);
    expect(await handler.store.memory.release('k', another)).toBe(true);
    expect(takeLog()).toEqual([expect.stringContaining('the lock was lost while the handler was running')]);
  });
});

describe('A store that fails while the outcome is written', () => {
  it('does not keep the answer from its caller', async () => {
    const handler = new ProtectedHandler();
    handler.store.script('complete', rejects('down'));
    const caller = handler.request(() => of('charged'));
    await pass(0);
    expect(caller.values).toEqual(['charged']);
    await pass(SECOND);

    expect(handler.kept).toBe('charged');
    takeLog();
  });
});
