import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSigning } from '../launch/signing.js';
import handle, { config } from '../netlify/edge-functions/gateway.js';
import { Upstreams } from './upstreams.js';

afterEach(() => vi.unstubAllGlobals());

describe('the edge function', () => {
  it('is loaded without variables, runs where it is needed and leaves caching to the answer', () => {
    expect(config).toEqual({
      path: '/app/*',
      excludedPath: ['/app/assets/*', '/app/health'],
      cache: 'manual',
    });
  });

  it('takes its variables from Netlify with the first request, and lets nobody through without keys', async () => {
    const request = async (): Promise<Request> =>
      new Request('https://shop.test/app/', { headers: { authorization: `Bearer ${await signing.sign('visitor')}` } });
    const signing = await createSigning();
    const variables = new Map([['AUTH_URL', 'https://auth.test']]);
    const next = vi.fn(() => Promise.resolve(new Response('page')));
    vi.stubGlobal('Netlify', { env: variables });
    const { calls } = new Upstreams();
    const first = await request();
    await expect(handle(first, { next })).rejects.toThrow('TOKEN_KEYS: is missing.');

    variables.set('TOKEN_KEYS', JSON.stringify(signing.keys));
    const answer = await handle(await request(), { next });
    expect(await answer.text()).toBe('page');
    expect(calls[0]?.url).toBe('https://auth.test/revocations');
  });
});
