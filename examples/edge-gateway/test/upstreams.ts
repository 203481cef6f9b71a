import { vi } from 'vitest';

/** What a service does with a request: answers with this as JSON, with this response, or never. */
export type Behaviour =
  { readonly json: unknown; readonly afterMs?: number } | { readonly response: Response } | 'hang';

export interface Call {
  readonly url: string;
  readonly init: RequestInit;
}

/** Services behind `globalThis.fetch`, by the paths that they are called at. */
export class Upstreams {
  revocations: Behaviour = { json: { revoked: false } };
  flags: Behaviour = { json: {} };
  readonly calls: Call[] = [];

  constructor() {
    vi.stubGlobal('fetch', (url: URL, init: RequestInit) => this.#receive(new URL(url).href, init));
  }

  /** The calls to one path, in order. */
  to(path: string): Call[] {
    return this.calls.filter(({ url }) => new URL(url).pathname === path);
  }

  #receive(url: string, init: RequestInit): Promise<Response> {
    this.calls.push({ url, init });
    const behaviour = url.endsWith('/revocations') ? this.revocations : this.flags;

    return new Promise((resolve, reject) => {
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
      if (behaviour === 'hang') return;
      if ('response' in behaviour) return resolve(behaviour.response);

      const { json, afterMs = 0 } = behaviour;
      if (afterMs === 0) resolve(Response.json(json));
      else setTimeout(() => resolve(Response.json(json)), afterMs);
    });
  }
}

const PATIENCE_MS = 5_000;

/** Waits for what takes turns of the event loop and no timers of ours: a signature that is checked, sockets. */
export async function until(reached: () => boolean): Promise<void> {
  const givenUpAt = performance.now() + PATIENCE_MS;
  while (!reached()) {
    if (performance.now() > givenUpAt) throw new Error(`Not reached: ${reached.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
