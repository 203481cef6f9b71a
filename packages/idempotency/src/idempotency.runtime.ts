import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { withPath } from 'holdfast/binding';
import { BoundedStore } from './execution/bounded-store.js';
import { KeyedCalls } from './execution/keyed-calls.js';
import { RunningCalls } from './execution/running-calls.js';
import { IdempotencyEvents } from './idempotency.events.js';
import { IDEMPOTENCY_MODULE_OPTIONS, type IdempotencyModuleOptions } from './idempotency.options.js';
import { IdempotencyStorage } from './idempotency.storage.js';
import { createRecordCodec } from './record/record-codec.js';
import { readModuleSettings, type ModuleSettings } from './settings.js';
import type { IdempotencyStore } from './store.js';
import { WarnOnce } from './warn-once.js';

/** What calls with keys need, of one application: on every transport, and of the service. */
@Injectable()
export class IdempotencyRuntime implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly settings: ModuleSettings;
  readonly calls: KeyedCalls;
  readonly warnings = new WarnOnce();
  private readonly running = new RunningCalls();
  private isLocked = false;

  constructor(
    @Inject(IDEMPOTENCY_MODULE_OPTIONS) options: IdempotencyModuleOptions,
    private readonly storage: IdempotencyStorage,
    readonly events: IdempotencyEvents,
  ) {
    const settings = withPath('IdempotencyModule', () => readModuleSettings(options));
    this.settings = settings;
    this.calls = new KeyedCalls({
      store: new BoundedStore(() => this.source(), settings.storeTimeoutMs),
      codec: withPath('IdempotencyModule', () => createRecordCodec(settings.encryption)),
      events,
      running: this.running,
      exposeKeys: settings.exposeKeys,
    });
  }

  /** @internal */
  onModuleInit(): void {
    this.storage.lock(this.settings);
    this.isLocked = true;
  }

  /**
   * While everything is still there: when the last hooks are called, other modules may have closed what the store or the
   * handlers need. Servers wait for their requests from here on; duplicates should not keep them from closing.
   *
   * @internal
   */
  async beforeApplicationShutdown(): Promise<void> {
    await this.running.settle(this.settings.shutdownGraceMs);
  }

  /** @internal */
  async onApplicationShutdown(): Promise<void> {
    await this.running.drain(this.settings.shutdownGraceMs);
    this.events.close();
  }

  private source(): IdempotencyStore {
    // Nest calls no hooks of modules that are loaded lazily.
    if (!this.isLocked) this.onModuleInit();

    return this.storage.source;
  }
}
