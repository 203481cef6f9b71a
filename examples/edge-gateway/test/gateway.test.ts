import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSigning, type Signing } from '../launch/signing.js';
import { createGateway, type Gateway } from '../lib/gateway.js';
import { readSettings } from '../lib/settings.js';
import { until, Upstreams } from './upstreams.js';

const REVOCATIONS = '/revocations';
const FLAGS = '/v1/evaluate';

let signing: Signing;
let token: string;
let upstreams: Upstreams;
let lines: unknown[];
let origin: ReturnType<typeof vi.fn<() => Promise<Response>>>;

beforeAll(async () => {
  signing = await createSigning();
  token = await signing.sign('visitor');
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  upstreams = new Upstreams();
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(JSON.parse(line)));
  origin = vi.fn(() => Promise.resolve(new Response('page')));
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function gatewayWith(variables: Readonly<Record<string, string>> = {}): Gateway {
  return createGateway(readSettings((name) => ({ TOKEN_KEYS: JSON.stringify(signing.keys), ...variables })[name]));
}

interface Sent {
  readonly authorization?: string | null;
  readonly signal?: AbortSignal;
  readonly gateway?: Gateway;
}

function send({ authorization = `Bearer ${token}`, signal, gateway = gatewayWith() }: Sent = {}): Promise<Response> {
  const request = new Request('https://shop.test/app/cart', {
    headers: authorization === null ? {} : { authorization },
    ...(signal && { signal }),
  });

  return gateway(request, { next: origin });
}

const called = (path: string): Promise<void> => until(() => upstreams.to(path).length === 1);
const headersOf = ({ headers }: Response): Record<string, string> => Object.fromEntries(headers);

describe('a request whose steps all answer', () => {
  it('gets the origin’s answer, with the flags that are on', async () => {
    upstreams.flags = { json: { 'new-cart': true, 'dark-mode': false, beta: true } };
    const answer = await send();

    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-flags')).toBe('new-cart,beta');
    expect(answer.headers.has('x-edge-degraded')).toBe(false);
    expect(await answer.text()).toBe('page');
    expect(lines).toEqual([]);
  });

  it('asks whether its session was revoked with its own authorization, and then for the flags', async () => {
    await send();

    expect(upstreams.calls.map(({ url }) => url)).toEqual([
      'https://auth.internal.example.com/revocations',
      'https://flags.internal.example.com/v1/evaluate',
    ]);
    expect(new Headers(upstreams.calls[0]?.init.headers).get('authorization')).toBe(`Bearer ${token}`);
    expect(upstreams.calls[1]?.init.headers).toBeUndefined();
  });

  it('keeps status, headers and validators of the answer, and every cookie', async () => {
    const headers = new Headers({ etag: '"1"', 'cache-control': 'max-age=60', 'cdn-cache-control': 'max-age=600' });
    headers.append('set-cookie', 'a=1');
    headers.append('set-cookie', 'b=2');
    origin.mockResolvedValue(new Response('gone', { status: 410, statusText: 'Gone for good', headers }));
    const answer = await send();

    expect([answer.status, answer.statusText]).toEqual([410, 'Gone for good']);
    expect(headersOf(answer)).toMatchObject({
      etag: '"1"',
      'cache-control': 'max-age=60',
      'cdn-cache-control': 'max-age=600',
    });
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('gets answers that have no body, too', async () => {
    origin.mockResolvedValue(new Response(null, { status: 304, headers: { etag: '"1"' } }));
    const answer = await send();

    expect([answer.status, answer.body]).toEqual([304, null]);
  });

  it('gets what is no answer that could be built anew as it is', async () => {
    const error = Response.error();
    origin.mockResolvedValue(error);

    expect(await send()).toBe(error);
  });

  it('gets the answer while it streams', async () => {
    let end: (() => void) | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('first'));
        end = () => controller.close();
      },
    });
    origin.mockResolvedValue(new Response(body));
    const reader = (await send()).body?.getReader();

    expect(new TextDecoder().decode((await reader?.read())?.value as Uint8Array)).toBe('first');
    end?.();
    expect(await reader?.read()).toMatchObject({ done: true });
  });

  it('fails as the origin fails', async () => {
    const refused = new TypeError('fetch failed');
    origin.mockRejectedValue(refused);

    await expect(send()).rejects.toBe(refused);
  });
});

describe('the signature of the token', () => {
  const now = (): number => Math.floor(Date.now() / 1_000);
  const forged = (): string => `${token.slice(0, -8)}AAAAAAAA`;
  const unsigned = (): string => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

    return `${part({ alg: 'none' })}.${part({ sub: 'visitor', exp: now() + 60 })}.`;
  };

  it.each([
    ['forged', () => `Bearer ${forged()}`],
    ['not signed at all', () => `Bearer ${unsigned()}`],
    ['cut short', () => `Bearer ${token.split('.').slice(0, 2).join('.')}`],
    ['no token', () => 'Bearer ÿ..\\'],
    ['of another scheme', () => 'Basic dmlzaXRvcg=='],
    ['given twice', () => `Bearer ${token}, Bearer ${token}`],
    ['absent behind its scheme', () => 'Bearer '],
  ])('is refused with 401 when it is %s, before anybody is asked', async (_name, authorization) => {
    const answer = await send({ authorization: authorization() });

    expect(answer.status).toBe(401);
    expect(headersOf(answer)).toEqual({
      'cache-control': 'no-store',
      'www-authenticate': 'Bearer error="invalid_token"',
    });
    expect(answer.body).toBeNull();
    expect([upstreams.calls, origin.mock.calls, lines]).toEqual([[], [], []]);
  });

  it('is asked for when there is no token', async () => {
    const answer = await send({ authorization: null });

    expect(answer.status).toBe(401);
    expect(headersOf(answer)).toEqual({ 'cache-control': 'no-store', 'www-authenticate': 'Bearer' });
    expect(upstreams.calls).toEqual([]);
  });

  it('is refused when another key made it, or when it has ended', async () => {
    const stranger = await createSigning();
    const tokens = [await stranger.sign('visitor'), token];
    const statuses = [(await send({ authorization: `Bearer ${tokens[0]}` })).status];
    vi.setSystemTime(Date.now() + 3_601_000);
    statuses.push((await send({ authorization: `Bearer ${tokens[1]}` })).status);

    expect(statuses).toEqual([401, 401]);
    expect(upstreams.calls).toEqual([]);
  });

  it('is refused when it would hold for ever', async () => {
    const eternal = await signing.sign('visitor', {});
    const answer = await send({ authorization: `Bearer ${eternal}` });

    expect([answer.status, upstreams.calls]).toEqual([401, []]);
  });

  it('is refused when it was made in a way that is not on the list, even with a known key', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES384', { extractable: true });
    const unusual = await new SignJWT({ exp: now() + 60 }).setProtectedHeader({ alg: 'ES384' }).sign(privateKey);
    const keys = { keys: [await exportJWK(publicKey)] };
    const gateway = gatewayWith({ TOKEN_KEYS: JSON.stringify(keys) });
    const answer = await send({ gateway, authorization: `Bearer ${unusual}` });

    expect([answer.status, upstreams.calls]).toEqual([401, []]);
  });

  it('is good for one issuer and one audience, where these are set', async () => {
    const ours = await send({ gateway: gatewayWith({ TOKEN_ISSUER: 'https://login.test' }) });
    const theirs = await send({ gateway: gatewayWith({ TOKEN_AUDIENCE: 'shop' }) });

    const good = await signing.sign('visitor', { iss: 'https://login.test', aud: 'shop', exp: now() + 60 });
    const fitting = gatewayWith({ TOKEN_ISSUER: 'https://login.test', TOKEN_AUDIENCE: 'shop' });
    const welcome = await send({ gateway: fitting, authorization: `Bearer ${good}` });

    expect([ours.status, theirs.status, welcome.status]).toEqual([401, 401, 200]);
  });

  it('is not blamed for a key that cannot be used', async () => {
    const keys = { keys: [{ ...signing.keys.keys[0], x: 'AA' }] };

    await expect(send({ gateway: gatewayWith({ TOKEN_KEYS: JSON.stringify(keys) }) })).rejects.toThrow();
    expect(origin).not.toHaveBeenCalled();
  });
});

describe('the revocation list', () => {
  it('keeps a revoked session out, with nothing but a 401', async () => {
    upstreams.revocations = { json: { revoked: true } };
    const answer = await send();

    expect(answer.status).toBe(401);
    expect(headersOf(answer)).toEqual({ 'cache-control': 'no-store' });
    expect(answer.body).toBeNull();
    expect([upstreams.to(FLAGS), origin.mock.calls, lines]).toEqual([[], [], []]);
  });

  it('closes the gate when it does not answer within 200 ms, and its call is ended', async () => {
    upstreams.revocations = 'hang';
    let answer: Response | undefined;
    void send().then((given) => (answer = given));
    await called(REVOCATIONS);
    await vi.advanceTimersByTimeAsync(199);
    expect(answer).toBeUndefined();

    await vi.advanceTimersByTimeAsync(1);
    expect(answer?.status).toBe(503);
    expect(headersOf(answer as Response)).toEqual({
      'content-type': 'text/plain;charset=UTF-8',
      'retry-after': '5',
      'cache-control': 'no-store',
      'x-edge-degraded': 'revocation=upstream_timeout;200',
    });
    expect(await answer?.text()).toBe('Service temporarily unavailable');
    expect(upstreams.to(REVOCATIONS)[0]?.init.signal?.reason).toMatchObject({ name: 'TimeoutError' });
    expect([upstreams.to(FLAGS), origin.mock.calls]).toEqual([[], []]);
    expect(lines).toEqual([
      {
        event: 'edge.timeout',
        step: 'revocation',
        reason: 'upstream_timeout',
        waitedMs: 200,
        budgetLeftMs: 1_300,
        policy: 'closed',
      },
    ]);
  });

  it.each([
    ['a failure', { response: new Response('down', { status: 500 }) }],
    ['a 404, which is not passed on', { response: new Response(null, { status: 404 }) }],
    ['no JSON', { response: new Response('<html>') }],
    ['nothing that says so', { json: {} }],
    ['something else than yes or no', { json: { revoked: 'no' } }],
    ['null', { json: null }],
  ])('closes the gate when it answers with %s', async (_name, behaviour) => {
    upstreams.revocations = behaviour;
    const answer = await send();

    expect(answer.status).toBe(503);
    expect(answer.headers.get('x-edge-degraded')).toBe('revocation=upstream_error;0');
    expect(origin).not.toHaveBeenCalled();
    expect(lines).toMatchObject([{ step: 'revocation', reason: 'upstream_error', policy: 'closed' }]);
  });
});

describe('the flags', () => {
  const WHOLE = {
    'cache-control': 'public, max-age=60',
    etag: '"1"',
    'last-modified': 'Mon, 02 Nov 2026 10:00:00 GMT',
    'cdn-cache-control': 'max-age=600',
    'netlify-cdn-cache-control': 'max-age=600, durable',
    'akamai-cache-control': 'max-age=600',
    'edge-control': 'max-age=600',
    expires: 'Mon, 02 Nov 2026 10:10:00 GMT',
    'surrogate-control': 'max-age=600',
    'x-accel-expires': '600',
    age: '5',
    'cdn-tag': 'cart',
    'x-request-id': '7',
  };

  it('are done without after 250 ms: the page all the same, marked, and kept by no cache', async () => {
    upstreams.flags = 'hang';
    origin.mockResolvedValue(new Response('page', { headers: WHOLE }));
    let answer: Response | undefined;
    void send().then((given) => (answer = given));
    await called(FLAGS);
    await vi.advanceTimersByTimeAsync(249);
    expect(origin).not.toHaveBeenCalled();

    await vi.advanceTimersByTimeAsync(1);
    expect(answer?.status).toBe(200);
    expect(headersOf(answer as Response)).toEqual({
      'content-type': 'text/plain;charset=UTF-8',
      'cache-control': 'no-store',
      'x-edge-degraded': 'flags=upstream_timeout;250',
      'x-flags': '',
      age: '5',
      'cdn-tag': 'cart',
      'x-request-id': '7',
    });
    expect(await answer?.text()).toBe('page');
    expect(upstreams.to(FLAGS)[0]?.init.signal?.aborted).toBe(true);
    expect(lines).toEqual([
      {
        event: 'edge.timeout',
        step: 'flags',
        reason: 'upstream_timeout',
        waitedMs: 250,
        budgetLeftMs: 1_250,
        policy: 'open',
      },
    ]);
  });

  it.each([
    ['a failure', { response: new Response('down', { status: 503 }) }],
    ['null', { json: null }],
    ['a name that could not be sent', { json: { 'new\r\nset-cookie: a': true } }],
    ['a name that would be two', { json: { 'new-cart,admin': true } }],
  ])('are done without when they are %s', async (_name, behaviour) => {
    upstreams.flags = behaviour;
    const answer = await send();

    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-flags')).toBe('');
    expect(answer.headers.get('x-edge-degraded')).toBe('flags=upstream_error;0');
    expect(lines).toMatchObject([{ step: 'flags', reason: 'upstream_error', policy: 'open' }]);
  });
});

describe('the budget', () => {
  it('leaves the origin its reserve: flags have what is left beside it', async () => {
    upstreams.revocations = { json: { revoked: false }, afterMs: 190 };
    upstreams.flags = 'hang';
    const answer = send({ gateway: gatewayWith({ BUDGET_MS: '1100' }) });
    await called(REVOCATIONS);
    await vi.advanceTimersByTimeAsync(190);
    await called(FLAGS);
    await vi.advanceTimersByTimeAsync(109);
    expect(origin).not.toHaveBeenCalled();

    await vi.advanceTimersByTimeAsync(1);
    expect((await answer).headers.get('x-edge-degraded')).toBe('flags=upstream_timeout;110');
    expect(upstreams.to(FLAGS)[0]?.init.signal?.aborted).toBe(true);
    expect(lines).toMatchObject([{ step: 'flags', waitedMs: 110, budgetLeftMs: 800 }]);
  });

  it('ends the call of a gate with what is left for it, too', async () => {
    upstreams.revocations = 'hang';
    const answer = send({ gateway: gatewayWith({ BUDGET_MS: '900' }) });
    await called(REVOCATIONS);
    await vi.advanceTimersByTimeAsync(99);
    expect(upstreams.to(REVOCATIONS)[0]?.init.signal?.aborted).toBe(false);

    await vi.advanceTimersByTimeAsync(1);
    expect(upstreams.to(REVOCATIONS)[0]?.init.signal?.aborted).toBe(true);
    expect((await answer).headers.get('x-edge-degraded')).toBe('revocation=upstream_timeout;100');
  });

  it('makes no call with nothing left beside the reserve, such as after a held event loop', async () => {
    const answer = send();
    vi.setSystemTime(Date.now() + 700);
    const { status, headers } = await answer;

    expect([status, headers.get('x-edge-degraded')]).toEqual([503, 'revocation=budget_exhausted;0']);
    expect(upstreams.calls).toEqual([]);
    expect(lines).toMatchObject([{ step: 'revocation', reason: 'budget_exhausted', waitedMs: 0, budgetLeftMs: 800 }]);
  });

  it('does not end the origin, however long it takes', async () => {
    origin.mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, 30_000));
      return new Response('late page');
    });
    const answer = send();
    await until(() => origin.mock.calls.length === 1);
    await vi.advanceTimersByTimeAsync(30_000);

    expect([(await answer).status, await (await answer).text()]).toEqual([200, 'late page']);
    expect(lines).toEqual([]);
  });
});

describe('a client that leaves', () => {
  it.each([
    ['revocation', REVOCATIONS, 'closed'],
    ['flags', FLAGS, 'open'],
  ] as const)(
    'ends the call of the step %s, is told apart in the log, and costs the origin nothing',
    async (...args) => {
      const [step, path, policy] = args;
      upstreams[step === 'flags' ? 'flags' : 'revocations'] = 'hang';
      const client = new AbortController();
      const answer = send({ signal: client.signal });
      await called(path);
      await vi.advanceTimersByTimeAsync(40);
      client.abort();
      const { status, headers } = await answer;

      expect(upstreams.to(path)[0]?.init.signal?.reason).toMatchObject({ name: 'AbortError' });
      expect([status, headers.get('x-edge-degraded')]).toEqual([503, `${step}=client_abort;40`]);
      expect(origin).not.toHaveBeenCalled();
      expect(lines).toEqual([
        { event: 'edge.timeout', step, reason: 'client_abort', waitedMs: 40, budgetLeftMs: 1_460, policy },
      ]);
    },
  );

  it('before its token was checked asks nobody', async () => {
    const { status, headers } = await send({ signal: AbortSignal.abort() });

    expect([status, headers.get('x-edge-degraded')]).toEqual([503, 'revocation=client_abort;0']);
    expect([upstreams.calls, origin.mock.calls]).toEqual([[], []]);
    expect(lines).toMatchObject([{ step: 'revocation', reason: 'client_abort', waitedMs: 0 }]);
  });
});
