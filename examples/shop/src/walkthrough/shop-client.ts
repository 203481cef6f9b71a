import type { CarrierMode } from '../carrier-stub/carrier-mode.js';
import type { CarrierStats } from '../carrier-stub/call-counts.js';
import { sendMessage } from '../launch/send-message.js';
import type { Addresses } from '../launch/what-to-try.js';

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** What `Idempotent-Replayed` says. */
  readonly replayed: string | null;
  readonly contentType: string | null;
  readonly body: string;
  /** When the request was sent, on the clock of `performance.now()`. */
  readonly sentAt: number;
  readonly elapsedMs: number;
}

/** A client of the shop that honours `Retry-After`, and a hand on the carrier stub. */
export class ShopClient {
  private retryAt = 0;

  constructor(private readonly addresses: Addresses) {}

  get(path: string): Promise<Answer> {
    return this.send(path, { method: 'GET' });
  }

  post(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Sends a message over TCP; the payload of a failure has the status that the same failure has over HTTP. */
  async message(pattern: string, data: unknown): Promise<Answer> {
    const start = performance.now();
    const body = await sendMessage(this.addresses.messagePort ?? 0, pattern, data);
    const end = performance.now();

    const { statusCode } = body as { readonly statusCode?: number };
    return {
      status: statusCode ?? 200,
      retryAfter: null,
      replayed: null,
      contentType: null,
      body: JSON.stringify(body),
      sentAt: start,
      elapsedMs: end - start,
    };
  }

  /** Waits until the latest moment that a `Retry-After` named. */
  async untilRetryAfter(): Promise<void> {
    await pause(Math.max(0, this.retryAt - performance.now()));
  }

  async carrier(mode: CarrierMode): Promise<void> {
    await fetch(`${this.addresses.carrierUrl}/mode`, { method: 'POST', body: JSON.stringify(mode) });
  }

  /** What reached the stub, once it has seen the end of every call (a closed connection takes a moment to be seen). */
  async carrierStats(patienceMs = 2000): Promise<CarrierStats> {
    const end = performance.now() + patienceMs;
    for (;;) {
      const response = await fetch(`${this.addresses.carrierUrl}/stats`);
      const stats = (await response.json()) as CarrierStats;
      if (stats.pending === 0 || performance.now() > end) {
        return stats;
      }
      await pause(20);
    }
  }

  async resetCarrier(): Promise<void> {
    await fetch(`${this.addresses.carrierUrl}/reset`, { method: 'POST' });
  }

  private async send(path: string, init: RequestInit): Promise<Answer> {
    const start = performance.now();
    const response = await fetch(this.addresses.shopUrl + path, init);
    const body = await response.text();
    const end = performance.now();
    const retryAfter = response.headers.get('retry-after');

    if (retryAfter !== null) {
      this.retryAt = Math.max(this.retryAt, end + Number(retryAfter) * 1000);
    }
    return {
      status: response.status,
      retryAfter,
      replayed: response.headers.get('idempotent-replayed'),
      contentType: response.headers.get('content-type'),
      body,
      sentAt: start,
      elapsedMs: end - start,
    };
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
