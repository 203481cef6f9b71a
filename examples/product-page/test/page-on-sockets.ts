import type { LoggerService } from '@nestjs/common';
import { startPageService, type PageService } from '../src/launch/page-service.js';
import type { Upstream } from '../src/upstreams.js';
import type { StubMode } from '../src/stubs/stub-mode.js';
import type { UpstreamStub } from '../src/stubs/upstream-stub.js';

export interface TimedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  readonly tookMs: number;
}

/** What the page logs while it serves, as `[context] message`. */
class Log implements LoggerService {
  readonly lines: string[] = [];
  readonly log = (message: unknown, context?: unknown): void => this.keep(message, context);
  readonly warn = (message: unknown, context?: unknown): void => this.keep(message, context);
  readonly error = (message: unknown, context?: unknown): void => this.keep(message, context);

  private keep(message: unknown, context: unknown): void {
    this.lines.push(`[${String(context)}] ${String(message)}`);
  }
}

/** The page and its stubs, on sockets. */
export class PageOnSockets {
  readonly log = new Log();
  private service: PageService | undefined;

  async start(origins: Partial<Record<Upstream, string>> = {}): Promise<void> {
    this.service = await startPageService({ port: 0, origins }, this.log);
    // What is compiled and connected for the first time takes a while.
    await this.get('/product-pages/warm-up');
    this.log.lines.length = 0;
    for (const { asked } of this.service.stubs) asked.length = 0;
  }

  async stop(): Promise<void> {
    await this.service?.close();
    this.service = undefined;
  }

  get url(): string {
    return (this.service as PageService).url;
  }

  stub(name: Upstream): UpstreamStub {
    return this.service?.stubs.find((one) => one.name === name) as UpstreamStub;
  }

  behave(modes: Partial<Record<Upstream, StubMode>>): void {
    for (const [name, mode] of Object.entries(modes)) this.stub(name as Upstream).mode = mode;
  }

  async get(path: string, signal?: AbortSignal): Promise<TimedAnswer> {
    const startedAt = performance.now();
    const response = await fetch(this.url + path, signal === undefined ? {} : { signal });
    const body: unknown = await response.json();
    const tookMs = performance.now() - startedAt;

    return { status: response.status, headers: response.headers, body, tookMs };
  }
}
