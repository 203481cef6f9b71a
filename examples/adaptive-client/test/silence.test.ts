import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { close, listen } from '../src/stubs/listening.js';
import { SilentListener, type Identity } from '../src/stubs/silent-listener.js';
import { WatchedClient } from '../src/story/watched-client.js';

const fixture = (name: string): string => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');

/** Node can make keys, but no certificates; this one is for 127.0.0.1, until 2126, and protects nothing. */
const identity: Identity = { key: fixture('key.pem'), cert: fixture('cert.pem') };

let silent: SilentListener | undefined;

afterEach(async () => {
  const listener = silent;
  if (listener) await close(listener.server, () => listener.hangUp());
  silent = undefined;
});

async function listening(given?: Identity): Promise<{ readonly silent: SilentListener; readonly url: URL }> {
  silent = new SilentListener(given);
  return { silent, url: await listen(silent.server) };
}

describe('a listener that accepts connections and never speaks', () => {
  it.each([
    ['to http', 'http:', undefined, 0],
    ['to https, before the handshake', 'https:', undefined, 0],
    ['to https, after the handshake', 'https:', identity, 4],
  ] as const)('is cut at the limit, and its sockets closed: %s', async (_when, protocol, given, handshakes) => {
    const { silent: listener, url } = await listening(given);
    url.protocol = protocol;
    const watched = new WatchedClient(identity.cert);
    const startedAt = performance.now();

    await expect(watched.call(url)).rejects.toMatchObject({ code: 'TIMEOUT', message: 'Timed out after 500ms' });
    const tookMs = performance.now() - startedAt;
    await listener.deserted();

    expect(watched.cutsMs).toEqual([500, 500, 500, 500]);
    expect(tookMs).toBeGreaterThanOrEqual(2_000);
    expect(tookMs).toBeLessThan(3_500);
    expect(listener.sockets).toEqual({ opened: 4, closed: 4 });
    expect(listener.handshakes).toBe(handshakes);
  });

  it('is not trusted with a certificate that nobody has vouched for, and not waited for', async () => {
    const { url } = await listening(identity);
    url.protocol = 'https:';
    const watched = new WatchedClient();

    await expect(watched.call(url)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(watched.cutsMs).toEqual([]);
  });
});
