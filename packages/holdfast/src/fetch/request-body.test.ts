import { describe, expect, it } from 'vitest';
import { useFakeClock } from '../../test/fake-clock.js';
import { errorOf } from '../../test/outcome.js';
import { useScriptedFetch } from '../../test/scripted-fetch.js';
import { fetchJson, type FetchOutcome } from './index.js';

const ORDERS = 'https://orders.test/';
const REMEDY = 'Build the body inside the function that is retried, so that each attempt has one of its own.';

useFakeClock();
const scripted = useScriptedFetch();

/** A call that is answered at once. */
async function post(body: unknown): Promise<FetchOutcome<unknown>> {
  const call = fetchJson(ORDERS, { method: 'POST', body } as RequestInit, '1s');
  scripted.current.calls.at(-1)?.answer({ json: 'taken' });

  return call;
}

async function* lines(): AsyncGenerator<string> {
  yield 'one';
}

describe('a body that can be sent once', () => {
  it.each([
    ['a stream of the platform', () => ({ getReader: () => undefined, locked: false })],
    ['a generator', lines],
    ['a stream of Node', () => ({ readableDidRead: false })],
  ])('is sent, and refused when it is to be sent again: %s', async (_what, make) => {
    const body = make();

    expect(await post(body)).toMatchObject({ ok: true });
    expect(String(await errorOf(post(body)))).toBe(
      `TypeError: init.body: this stream has been read already. ${REMEDY}`,
    );
    expect(await post(make())).toMatchObject({ ok: true });
    expect(scripted.current.calls).toHaveLength(2);
  });

  it.each([
    ['a stream of the platform that somebody reads', { getReader: () => undefined, locked: true }],
    ['a stream of Node', { readableDidRead: true }],
  ])('is refused at once when it has been read elsewhere: %s', async (_what, body) => {
    expect(String(await errorOf(post(body)))).toContain(`init.body: this stream has been read already. ${REMEDY}`);
    expect(scripted.current.calls).toEqual([]);
  });

  it('is not used up by a call that was never made', async () => {
    const body = lines();
    const init = { method: 'POST', body } as unknown as RequestInit;

    expect(await fetchJson(ORDERS, init, 0)).toMatchObject({ reason: 'budget_exhausted' });
    expect(await fetchJson(ORDERS, { ...init, signal: AbortSignal.abort() }, 50)).toMatchObject({
      reason: 'client_abort',
    });
    expect(await post(body)).toMatchObject({ ok: true });
  });

  it('may be that of a Request', async () => {
    const used = { bodyUsed: true } as Request;

    expect(String(await errorOf(fetchJson(used, {}, '1s')))).toBe(
      `TypeError: url: the body of this Request has been read already. ${REMEDY}`,
    );
    const replaced = fetchJson(used, { body: '{}' }, '1s');
    scripted.current.call.answer({ json: 'taken' });
    expect(await replaced).toMatchObject({ ok: true });
  });
});

describe('a body that can be sent again', () => {
  it.each([
    ['text', '{}'],
    ['bytes', new Uint8Array(3)],
    ['an iterable that begins anew each time', { [Symbol.asyncIterator]: lines }],
    ['nothing', null],
  ])('is: %s', async (_what, body) => {
    await post(body);

    expect(await post(body)).toMatchObject({ ok: true, value: 'taken' });
  });
});
