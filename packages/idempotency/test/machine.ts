import { afterEach, beforeEach, expect, vi } from 'vitest';
import { BoundedStore } from '../src/execution/bounded-store.js';
import { logger } from '../src/log.js';
import type { HeldCall } from '../src/execution/held-call.js';
import type { KeyedCall } from '../src/execution/keyed-call.js';
import { KeyedCalls } from '../src/execution/keyed-calls.js';
import { RunningCalls } from '../src/execution/running-calls.js';
import { IdempotencyEvents, type IdempotencyEvent } from '../src/idempotency.events.js';
import type { IdempotentOptions } from '../src/idempotency.options.js';
import { createRecordCodec } from '../src/record/record-codec.js';
import { mergeOptions, readHandlerOptions } from '../src/settings.js';
import type { IdempotencyStoredResponse } from '../src/store.js';
import { ScriptedStore } from './scripted-store.js';

export const STORE_TIMEOUT = 10_000;
export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;

/**
 * Runs each test of the file on a fake clock. A test fails that leaves a timer behind, or a line in the log that it has
 * not taken.
 */
export function useMachine(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 1_800_000_000_000 });
    useLog();
  });

  afterEach(() => {
    const timers = vi.getTimerCount();
    vi.useRealTimers();
    expect(timers, 'timers that the test left behind').toBe(0);
    expect(takeLog(), 'lines that the test did not expect').toEqual([]);
  });
}

const lines: string[] = [];

/** From here to the end of the test the module's lines are kept for {@link takeLog}. */
export function useLog(): void {
  lines.length = 0;
  for (const level of ['error', 'warn', 'log'] as const) {
    vi.spyOn(logger, level).mockImplementation((message: unknown) => void lines.push(`${level}: ${String(message)}`));
  }
}

/** The lines since the last time. */
export function takeLog(): string[] {
  return lines.splice(0);
}

/** Moves the clock, firing what is due on the way. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Everything between a call with a key and its store, which does what the test says. */
export class Machine {
  readonly store = new ScriptedStore();
  readonly events = new IdempotencyEvents();
  readonly running = new RunningCalls();
  readonly told: IdempotencyEvent[] = [];
  readonly bounded: BoundedStore;
  readonly calls: KeyedCalls;

  constructor({ storeTimeout = STORE_TIMEOUT, exposeKeys = true } = {}) {
    this.bounded = new BoundedStore(() => this.store, storeTimeout);
    const { events, running, bounded: store } = this;
    this.calls = new KeyedCalls({ store, codec: createRecordCodec(), events, running, exposeKeys });
    events.events$.subscribe((event) => void this.told.push(event));
  }

  call(options: IdempotentOptions = {}, given: Partial<KeyedCall> = {}): KeyedCall {
    const settings = mergeOptions(readHandlerOptions(options));
    const call = { context: 'http', handler: 'Payments.create', key: 'k', scope: undefined, recordKey: 'k' } as const;

    return { ...call, fingerprint: 'print', settings, ...given };
  }

  /** The call, which must have been let through to its handler. */
  async hold(call: KeyedCall = this.call()): Promise<HeldCall> {
    const admission = await this.calls.admit(call, () => false);
    if (admission.kind !== 'run') throw new Error(`Expected to hold the key, got ${admission.kind}.`);

    return admission.held;
  }

  /** Takes the key as another process would, with its own handler running. */
  async takenByAnother(key = 'k', lockTtl = HOUR): Promise<string> {
    const taken = await this.store.memory.acquire(key, 'another', 'print', lockTtl);
    expect(taken).toEqual({ state: 'acquired' });

    return 'another';
  }

  /** Types of the events so far, with what tells them apart. */
  get events$(): string[] {
    return this.told.map((event) => {
      if (event.type === 'lock-lost') return `lock-lost:${event.phase}`;
      if (event.type === 'store-error') return `store-error:${event.method}`;
      if (event.type === 'released') return `released:${event.reason}`;
      if (event.type === 'rejected') return `rejected:${event.code}`;
      return event.type;
    });
  }

  /** The answer that is kept, if there is one. */
  get kept(): unknown {
    const found = this.store.memory.peek('k');

    return found?.state === 'completed' ? (found.response as IdempotencyStoredResponse).body : undefined;
  }

  get isLocked(): boolean {
    return this.store.memory.peek('k')?.state === 'in-flight';
  }
}

export const answer = (body: unknown): { readonly keep: IdempotencyStoredResponse } => ({
  keep: { status: 201, headers: {}, body },
});
