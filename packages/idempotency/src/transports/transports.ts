import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { IdempotencyRuntime } from '../idempotency.runtime.js';
import { HttpTransport } from './http.js';
import type { Transport } from './transport.js';

/** The transports, by the names that Nest has for kinds of calls. */
@Injectable()
export class Transports implements OnModuleInit {
  private readonly known: ReadonlyMap<string, Transport>;

  constructor(adapterHost: HttpAdapterHost, application: ApplicationConfig, { settings }: IdempotencyRuntime) {
    const transports: readonly Transport[] = [new HttpTransport(adapterHost, application, settings)];
    this.known = new Map(transports.map((transport) => [transport.context, transport]));
  }

  /** `undefined` for a kind of call that has no keys. */
  of(type: string): Transport | undefined {
    return this.known.get(type);
  }

  /** @internal */
  async onModuleInit(): Promise<void> {
    for (const transport of this.known.values()) await transport.prepare?.();
  }
}
