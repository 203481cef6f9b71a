import { createClient, type AdaptiveClient } from '../client.js';

/** How a call went that was answered. */
export interface CallReport {
  /** From the caller's side: all attempts and the waits between them. */
  readonly tookMs: number;
  /** The limits at which its attempts were cut. */
  readonly cutsMs: readonly number[];
}

/** A client that keeps count. One call at a time, so that every cut belongs to the call that runs. */
export class WatchedClient {
  readonly client: AdaptiveClient;
  /** The limits at which attempts of the latest call were cut. */
  cutsMs: number[] = [];

  constructor(trusted?: string) {
    this.client = createClient(trusted);
    this.client.policy.subscribe((event) => {
      if (event.type === 'timeout') this.cutsMs.push(event.timeoutMs);
    });
  }

  get limitMs(): number {
    return this.client.limit.limitMs;
  }

  /** Rejects with the error of the last attempt. */
  async call(url: URL): Promise<CallReport> {
    const cutsMs: number[] = [];
    this.cutsMs = cutsMs;
    const startedAt = performance.now();
    await this.client.call(url);

    return { tookMs: performance.now() - startedAt, cutsMs };
  }
}
