import { afterEach, beforeEach, vi } from 'vitest';

/**
 * Stands for `globalThis.fetch`. Calls hang until the test answers them, and reject when their signal aborts, as those of
 * the platform do. Needs nothing of the platform, so that it works where there is neither `fetch` nor `Response`.
 */
export class ScriptedFetch {
  readonly calls: FetchCall[] = [];
  /** Whether calls run on whatever their signal says. */
  deaf = false;

  readonly fetch = (url: unknown, init: RequestInit & { signal: AbortSignal }): Promise<unknown> => {
    const call = new FetchCall(url, init, this.deaf);
    this.calls.push(call);

    return call.promise;
  };

  /** The latest call. */
  get call(): FetchCall {
    const call = this.calls.at(-1);
    if (call === undefined) throw new Error('Nothing was fetched.');

    return call;
  }
}

/** Replaces `fetch` in each test of the file. */
export function useScriptedFetch(): { readonly current: ScriptedFetch } {
  const holder = { current: new ScriptedFetch() };
  beforeEach(() => {
    holder.current = new ScriptedFetch();
    vi.stubGlobal('fetch', holder.current.fetch);
  });
  afterEach(() => void vi.unstubAllGlobals());

  return holder;
}

export interface ScriptedAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: unknown;
  /** What `json()` resolves to, or the error that it rejects with; without it, the body stalls. */
  readonly json?: unknown;
  readonly body?: unknown;
}

export class FetchCall {
  readonly url: unknown;
  readonly init: RequestInit & { signal: AbortSignal };
  readonly promise: Promise<unknown>;
  /** Rejects when the signal aborts. */
  private readonly aborted: Promise<never>;
  private resolve!: (answer: unknown) => void;
  private reject!: (error: unknown) => void;

  constructor(url: unknown, init: RequestInit & { signal: AbortSignal }, deaf: boolean) {
    this.url = url;
    this.init = init;
    const { signal } = init;
    this.aborted = new Promise((_, reject) => {
      if (!deaf) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.aborted.catch(() => {});
    const answered = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.promise = Promise.race([answered, this.aborted]);
  }

  get signal(): AbortSignal {
    return this.init.signal;
  }

  answer({ status = 200, headers, json, body = null }: ScriptedAnswer): void {
    const read = (): Promise<unknown> => {
      if (json instanceof Error) return Promise.reject(json);
      return json === undefined ? this.aborted : Promise.resolve(json);
    };
    this.resolve({ ok: status >= 200 && status < 300, status, headers, body, json: read });
  }

  fail(error: unknown): void {
    this.reject(error);
  }
}

/** A body that yields chunks of so many bytes, and then ends or stalls. Knows how it was let go of. */
export class ScriptedBody {
  readonly yielded: unknown[] = [];
  cancelled = false;
  private readonly chunks: unknown[];
  private readonly stalls: boolean;

  constructor(chunks: readonly unknown[], end: 'ends' | 'stalls' = 'ends') {
    this.chunks = [...chunks];
    this.stalls = end === 'stalls';
  }

  readonly cancel = (): Promise<void> => {
    this.cancelled = true;
    return Promise.resolve();
  };

  getReader(): { read: () => Promise<unknown>; cancel: () => Promise<void> } {
    return { read: () => this.read(), cancel: this.cancel };
  }

  private read(): Promise<unknown> {
    if (this.chunks.length === 0) return this.stalls ? new Promise(() => {}) : Promise.resolve({ done: true });

    const value = this.chunks.shift();
    this.yielded.push(value);
    return Promise.resolve({ done: false, value });
  }
}
