import { describe, expect, it, vi } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { ScriptedBody, useScriptedFetch } from '../../test/scripted-fetch.js';
import { WatchedController } from '../../test/watched-signal.js';
import { ClientDisconnectedError, DeadlineExceededError, ResilienceTimeoutError } from '../errors.js';
import type { Duration } from '../duration.js';
import { fetchJson } from './fetch-json.js';

const FLAGS = 'https://flags.test/v1/evaluate';
const down = new TypeError('fetch failed');

useFakeClock();
const scripted = useScriptedFetch();

describe('a call that is answered', () => {
  it('gives the value and the time that it took', async () => {
    const call = fetchJson<{ beta: boolean }>(FLAGS, {}, '250ms');
    await pass(40);
    scripted.current.call.answer({ json: { beta: true } });

    expect(await call).toEqual({ ok: true, value: { beta: true }, ms: 40 });
    await pass(1_000);
    expect(scripted.current.call.signal.aborted).toBe(false);
  });

  it('counts until right before its limit', async () => {
    const call = fetchJson(FLAGS, {}, 250);
    await pass(249);
    scripted.current.call.answer({ json: 1 });

    expect(await call).toEqual({ ok: true, value: 1, ms: 249 });
  });

  it('was made with what it was given, and nothing is written there', async () => {
    const init = Object.freeze({ method: 'POST', headers: { accept: 'application/json' }, body: '{}' });
    const url = new URL(FLAGS);
    const call = fetchJson(url, init, '1s');
    scripted.current.call.answer({ json: null });

    expect(await call).toEqual({ ok: true, value: null, ms: 0 });
    expect(scripted.current.call.url).toBe(url);
    expect(scripted.current.call.init).toEqual({ ...init, signal: scripted.current.call.signal });
  });

  it('needs no init, and asks whatever `fetch` is at the time of the call', async () => {
    const later = vi.fn(async () => ({ ok: true, status: 200, json: async () => 'later' }));
    vi.stubGlobal('fetch', later);

    expect(await fetchJson(FLAGS, undefined, '1s')).toEqual({ ok: true, value: 'later', ms: 0 });
    expect(scripted.current.calls).toEqual([]);
  });

  it('with something that is no JSON is an error of the upstream', async () => {
    const call = fetchJson(FLAGS, {}, '1s');
    const flaw = new SyntaxError('Unexpected token <');
    scripted.current.call.answer({ json: flaw });
    const outcome = await call;

    expect(outcome).toEqual({ ok: false, reason: 'upstream_error', ms: 0, status: 200 });
    expect(outcome).toHaveProperty('cause', flaw);
  });
});

describe('a limit', () => {
  it('ends a call that nobody answers, exactly then', async () => {
    const call = outcomeOf(fetchJson(FLAGS, {}, '250ms'));
    await pass(249);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 250 });
  });

  it('aborts the call with an error that both `fetch` and policies understand', async () => {
    const call = fetchJson(FLAGS, {}, 250);
    await pass(250);
    const { reason } = scripted.current.call.signal as { reason: DOMException };

    expect(reason).toBeInstanceOf(DOMException);
    expect(reason.name).toBe('TimeoutError');
    expect(reason.cause).toBeInstanceOf(ResilienceTimeoutError);
    expect(reason.cause).toMatchObject({ timeoutMs: 250, policy: 'fetchJson' });
    expect(Object.keys(reason)).toEqual([]);
    expect(await call).toHaveProperty('cause', reason);
  });

  it('holds for the body too', async () => {
    const call = outcomeOf(fetchJson(FLAGS, {}, 250));
    await pass(100);
    scripted.current.call.answer({});
    await pass(149);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 250, status: 200 });
    expect(scripted.current.call.signal.aborted).toBe(true);
  });

  it('may be longer than a timer of the platform', async () => {
    const call = outcomeOf(fetchJson(FLAGS, {}, '30d'));
    await pass(30 * 86_400_000 - 1);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toMatchObject({ reason: 'upstream_timeout' });
  });

  it.each<[Duration]>([[0], [-1], [-0.5], [-Infinity], ['0ms'], ['0s']])('of %s makes no call', async (limit) => {
    expect(await fetchJson(FLAGS, {}, limit)).toEqual({ ok: false, reason: 'budget_exhausted', ms: 0 });
    expect(scripted.current.calls).toEqual([]);
  });

  it('of a fraction of a millisecond makes one', async () => {
    const call = outcomeOf(fetchJson(FLAGS, {}, 0.4));
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toMatchObject({ reason: 'upstream_timeout' });
    expect(scripted.current.calls).toHaveLength(1);
  });

  it.each<[unknown, RegExp]>([
    [Number.NaN, /^limit: Invalid duration NaN: .* environment variable/],
    [Infinity, /^limit: Invalid duration Infinity: expected a non-negative number/],
    ['250', /^limit: Invalid duration "250": .* Write 250 or '250ms'/],
    ['-1s', /^limit: Invalid duration "-1s": expected a number and a unit/],
    [undefined, /^limit: Invalid duration undefined: /],
    [null, /^limit: Invalid duration null: /],
    [{}, /^limit: Invalid duration an object: /],
  ])('of %s is refused, and no call is made', async (limit, message) => {
    const error = await errorOf(fetchJson(FLAGS, {}, limit as Duration));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect(scripted.current.calls).toEqual([]);
  });
});

describe('a fetch that ignores its signal', () => {
  it('is not waited for, and what it answers later is let go of', async () => {
    scripted.current.deaf = true;
    const call = outcomeOf(fetchJson(FLAGS, {}, 100));
    await pass(100);
    expect(call.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });

    const body = new ScriptedBody([], 'stalls');
    scripted.current.call.answer({ json: 'late', body });
    await pass(0);
    expect(call.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 100 });
    expect(body.cancelled).toBe(true);
  });

  it('may fail later, which nobody hears of', async () => {
    scripted.current.deaf = true;
    const call = fetchJson(FLAGS, {}, 100);
    await pass(100);
    await call;
    scripted.current.call.fail(down);
    await pass(0);

    expect(await call).toMatchObject({ reason: 'upstream_timeout' });
  });

  it('may answer later with what is no answer at all', async () => {
    scripted.current.deaf = true;
    vi.stubGlobal('fetch', () => new Promise((resolve) => setTimeout(resolve, 200, { body: {} })));
    const call = fetchJson(FLAGS, {}, 100);
    await pass(200);

    expect(await call).toMatchObject({ reason: 'upstream_timeout' });
  });

  it('is not waited for either while a refused answer is drained', async () => {
    scripted.current.deaf = true;
    const call = outcomeOf(fetchJson(FLAGS, {}, 100));
    const body = new ScriptedBody([new Uint8Array(10)], 'stalls');
    scripted.current.call.answer({ status: 503, body });
    await pass(99);
    expect([call.state, body.cancelled]).toEqual(['pending', false]);
    await pass(1);

    expect(call.value).toEqual({ ok: false, reason: 'upstream_error', ms: 100, status: 503 });
    expect(body.cancelled).toBe(true);
  });
});

describe('a caller', () => {
  it('ends the call at once, with its own reason', async () => {
    const caller = new AbortController();
    const call = outcomeOf(fetchJson(FLAGS, { signal: caller.signal }, 250));
    await pass(60);
    const gone = new ClientDisconnectedError('page');
    caller.abort(gone);
    await microtasks();

    expect(call.value).toEqual({ ok: false, reason: 'client_abort', ms: 60 });
    expect(call.value).toHaveProperty('cause', gone);
    expect(scripted.current.call.signal.reason).toBe(gone);
  });

  it('ends it while the body is read', async () => {
    const caller = new AbortController();
    const call = outcomeOf(fetchJson(FLAGS, { signal: caller.signal }, 250));
    scripted.current.call.answer({});
    await pass(60);
    caller.abort();
    await microtasks();

    expect(call.value).toEqual({ ok: false, reason: 'client_abort', ms: 60, status: 200 });
  });

  it.each([
    ['the platform', new DOMException('too late', 'TimeoutError')],
    ['a policy', new ResilienceTimeoutError(50, 'page')],
    ['a budget', new DeadlineExceededError(50, 'page')],
  ])('whose own limit is over, one of %s, is no client that has left', async (_whose, reason) => {
    const caller = new AbortController();
    const call = outcomeOf(fetchJson(FLAGS, { signal: caller.signal }, 250));
    await pass(50);
    caller.abort(reason);
    await microtasks();

    expect(call.value).toEqual({ ok: false, reason: 'upstream_timeout', ms: 50 });
    expect(scripted.current.call.signal.reason).toBe(reason);

    const next = await fetchJson(FLAGS, { signal: caller.signal }, 250);
    expect(next).toEqual({ ok: false, reason: 'budget_exhausted', ms: 0 });
    expect(scripted.current.calls).toHaveLength(1);
  });

  it('that has left before makes no call', async () => {
    const outcome = await fetchJson(FLAGS, { signal: AbortSignal.abort('left') }, 250);

    expect(outcome).toEqual({ ok: false, reason: 'client_abort', ms: 0 });
    expect(outcome).toHaveProperty('cause', 'left');
    expect(scripted.current.calls).toEqual([]);
  });

  it('that leaves while `fetch` is being called ends the call too', async () => {
    const caller = new AbortController();
    vi.stubGlobal('fetch', (...args: [unknown, RequestInit & { signal: AbortSignal }]) => {
      caller.abort();
      return scripted.current.fetch(...args);
    });

    expect(await fetchJson(FLAGS, { signal: caller.signal }, 250)).toMatchObject({ reason: 'client_abort' });
  });

  it('changes nothing after the answer', async () => {
    const caller = new AbortController();
    const call = fetchJson(FLAGS, { signal: caller.signal }, 250);
    scripted.current.call.answer({ json: 'fine' });
    const outcome = await call;
    caller.abort();

    expect(outcome).toMatchObject({ ok: true });
    expect(scripted.current.call.signal.aborted).toBe(false);
  });

  it('may give its signal with a Request, which that of init replaces', async () => {
    const ofRequest = new AbortController();
    const request = { signal: ofRequest.signal, bodyUsed: false } as Request;
    const call = outcomeOf(fetchJson(request, {}, 250));
    const replaced = outcomeOf(fetchJson(request, { signal: null }, 250));
    ofRequest.abort();
    await microtasks();
    expect([call.state, replaced.state]).toEqual(['fulfilled', 'pending']);
    expect(call.value).toMatchObject({ reason: 'client_abort' });

    await pass(250);
    expect(replaced.value).toMatchObject({ reason: 'upstream_timeout' });
  });

  it('that passes something else as its signal, or a Request as init, is told', async () => {
    const signal = new AbortController() as unknown as AbortSignal;
    const request = { bodyUsed: false } as unknown as RequestInit;

    expect(String(await errorOf(fetchJson(FLAGS, { signal }, 250)))).toBe(
      'TypeError: init.signal: expected an AbortSignal, got an object. Pass controller.signal.',
    );
    expect(String(await errorOf(fetchJson(FLAGS, request, 250)))).toBe(
      'TypeError: init: got a Request. Pass it as the first argument, or new Request(url, request).',
    );
    expect(scripted.current.calls).toEqual([]);
  });
});

describe('a call that fails', () => {
  it('is an error of the upstream, and keeps what was thrown for the log, not for what is sent', async () => {
    const call = fetchJson(FLAGS, {}, 250);
    await pass(20);
    scripted.current.call.fail(down);
    const outcome = await call;

    expect(outcome).toEqual({ ok: false, reason: 'upstream_error', ms: 20 });
    expect(outcome).toHaveProperty('cause', down);
    expect(JSON.stringify(outcome)).toBe('{"ok":false,"reason":"upstream_error","ms":20}');
  });

  it.each([
    ['TimeoutError', 'upstream_timeout'],
    ['AbortError', 'client_abort'],
    ['TypeError', 'upstream_error'],
  ])('with a %s of its own is %s', async (name, reason) => {
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.fail(Object.assign(new Error('by itself'), { name }));

    expect(await call).toMatchObject({ ok: false, reason });
  });

  it.each([
    ['nothing', undefined],
    ['a string', 'down'],
    [
      'what does not let itself be looked at',
      new Proxy(
        {},
        {
          get() {
            throw new Error('keep off');
          },
        },
      ),
    ],
  ])('with %s is an error of the upstream', async (_what, thrown) => {
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.fail(thrown);

    expect(await call).toMatchObject({ ok: false, reason: 'upstream_error' });
  });

  it('may do so before it has begun', async () => {
    vi.stubGlobal('fetch', () => {
      throw down;
    });

    expect(await fetchJson(FLAGS, {}, 250)).toEqual({ ok: false, reason: 'upstream_error', ms: 0 });
  });

  it('may resolve to nothing at all', async () => {
    vi.stubGlobal('fetch', async () => undefined);

    expect(await fetchJson(FLAGS, {}, 250)).toEqual({ ok: false, reason: 'upstream_error', ms: 0 });
  });

  it('for want of a fetch says so', async () => {
    vi.stubGlobal('fetch', undefined);

    expect(String(await errorOf(fetchJson(FLAGS, {}, 250)))).toBe(
      'TypeError: There is no fetch in this runtime. Set globalThis.fetch before the first call.',
    );
  });
});

describe('an answer that is not ok', () => {
  const KILOBYTE = new Uint8Array(1_024);

  it('is an error of the upstream with its status; a retry finds its headers', async () => {
    const headers = new Map([['retry-after', '3']]);
    const call = fetchJson(FLAGS, {}, 250);
    await pass(30);
    scripted.current.call.answer({ status: 503, headers });
    const outcome = await call;

    expect(outcome).toEqual({ ok: false, reason: 'upstream_error', ms: 30, status: 503 });
    expect(outcome).toHaveProperty('headers', headers);
    expect(Object.keys(outcome)).not.toContain('headers');
  });

  it('of 64 kB is read to its end, so that its connection can be used again', async () => {
    const body = new ScriptedBody(new Array(64).fill(KILOBYTE));
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.answer({ status: 500, body });

    expect(await call).toMatchObject({ reason: 'upstream_error', status: 500 });
    expect(body.yielded).toHaveLength(64);
    expect(body.cancelled).toBe(false);
  });

  it('of more than that is given up', async () => {
    const body = new ScriptedBody([...new Array(64).fill(KILOBYTE), new Uint8Array(1), KILOBYTE], 'stalls');
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.answer({ status: 500, body });

    expect(await call).toMatchObject({ reason: 'upstream_error', status: 500 });
    expect(body.yielded).toHaveLength(65);
    expect(body.cancelled).toBe(true);
  });

  it.each([
    ['text', ['no bytes']],
    ['empty chunks', [new Uint8Array(0)]],
  ])('of %s, which could go on for ever without a byte, is given up', async (_what, chunks) => {
    const body = new ScriptedBody(chunks, 'stalls');
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.answer({ status: 500, body });

    expect(await call).toMatchObject({ ms: 0, status: 500 });
    expect(body.cancelled).toBe(true);
  });

  it('whose body stalls is no timeout, although the limit ends the reading', async () => {
    const call = outcomeOf(fetchJson(FLAGS, {}, 250));
    scripted.current.call.answer({ status: 404, body: new ScriptedBody([], 'stalls') });
    await pass(249);
    expect(call.state).toBe('pending');
    await pass(1);

    expect(call.value).toEqual({ ok: false, reason: 'upstream_error', ms: 250, status: 404 });
    expect(scripted.current.call.signal.aborted).toBe(true);
  });

  it('is that also when the caller leaves while it is read', async () => {
    const caller = new AbortController();
    const call = outcomeOf(fetchJson(FLAGS, { signal: caller.signal }, 250));
    const body = new ScriptedBody([], 'stalls');
    scripted.current.call.answer({ status: 404, body });
    await pass(50);
    caller.abort();
    await microtasks();

    expect(call.value).toEqual({ ok: false, reason: 'upstream_error', ms: 50, status: 404 });
    expect(body.cancelled).toBe(true);
  });

  it.each([
    ['breaks off', { getReader: () => ({ read: () => Promise.reject(down), cancel: () => Promise.reject(down) }) }],
    [
      'is being read by somebody else',
      {
        getReader: () => {
          throw down;
        },
        cancel: () => Promise.reject(down),
      },
    ],
    ['is none', {}],
  ])('may have a body that %s', async (_what, body) => {
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.answer({ status: 500, body });

    expect(await call).toMatchObject({ ms: 0, status: 500 });
  });

  it('may have a body that can only be cancelled', async () => {
    const cancel = vi.fn(async () => {});
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.answer({ status: 500, body: { cancel } });

    expect(await call).toMatchObject({ status: 500 });
    expect(cancel).toHaveBeenCalledTimes(1);
  });
});

describe('an event loop that was held beyond the limit', () => {
  it.each<[string, () => void]>([
    ['an answer', () => scripted.current.call.answer({ json: 'late' })],
    ['a refused one', () => scripted.current.call.answer({ status: 500 })],
    ['a failure', () => scripted.current.call.fail(down)],
  ])('makes %s a timeout: it comes too late for whoever set the limit', async (_what, settle) => {
    const call = fetchJson(FLAGS, {}, 250);
    vi.setSystemTime(START + 250);
    settle();

    expect(await call).toEqual({ ok: false, reason: 'upstream_timeout', ms: 250 });
    expect(scripted.current.call.signal.aborted).toBe(true);
  });

  it('makes a body that was read in that time one too', async () => {
    const call = fetchJson(FLAGS, {}, 250);
    scripted.current.call.answer({ json: new Promise((resolve) => setTimeout(resolve, 100, 'late')) });
    await pass(50);
    vi.setSystemTime(START + 260);
    await pass(50);

    expect(await call).toMatchObject({ ok: false, reason: 'upstream_timeout', status: 200 });
  });

  it('takes nothing from one that comes right before it', async () => {
    const call = fetchJson(FLAGS, {}, 250);
    vi.setSystemTime(START + 249);
    scripted.current.call.answer({ json: 'in time' });

    expect(await call).toMatchObject({ ok: true, value: 'in time' });
  });
});

describe('what a call leaves behind', () => {
  const endings: [string, (caller: AbortController) => Promise<void> | void][] = [
    ['an answer', () => scripted.current.call.answer({ json: 1 })],
    ['a refused one', () => scripted.current.call.answer({ status: 500, body: new ScriptedBody([]) })],
    ['a failure', () => scripted.current.call.fail(down)],
    ['its limit', () => pass(250)],
    ['its caller', (caller) => caller.abort()],
  ];

  // That no timer is left is asked after each test of the file.
  it.each(endings)('is no listener after %s', async (_what, end) => {
    const caller = new WatchedController();
    const call = fetchJson(FLAGS, { signal: caller.signal }, 250);
    expect(caller.listeners).toBe(1);
    await end(caller);
    await call;

    expect(caller.listeners).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is none after a thousand calls on one signal', async () => {
    const caller = new WatchedController();
    const calls = Array.from({ length: 1_000 }, () => fetchJson(FLAGS, { signal: caller.signal }, 250));
    expect(caller.listeners).toBe(1);
    scripted.current.calls.forEach((call, index) => {
      if (index % 3 === 0) call.answer({ json: index });
      if (index % 3 === 1) call.fail(down);
    });
    await pass(250);
    await Promise.all(calls);

    expect(caller.listeners).toBe(0);
  });
});
