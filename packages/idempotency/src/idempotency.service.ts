import { Injectable } from '@nestjs/common';
import { requireName, requireObject, withPath } from 'holdfast/binding';
import type { CallReports } from './execution/call-reports.js';
import { currentCall, type HeldCall } from './execution/held-call.js';
import type { KeyedCall } from './execution/keyed-call.js';
import { IdempotencyRejectedError } from './execution/rejection.js';
import type { IdempotentOptions } from './idempotency.options.js';
import { IdempotencyRuntime } from './idempotency.runtime.js';
import { fingerprintOf } from './key/fingerprint.js';
import { readKey } from './key/idempotency-key.js';
import { recordKey } from './key/record-key.js';
import { scopeText } from './key/scope.js';
import { encodeValue } from './record/stored-value.js';
import { mergeOptions, readHandlerOptions, type HandlerSettings } from './settings.js';
import type { IdempotencyStore, IdempotencyStoredResponse } from './store.js';
import { replayedHttpError, storedHttpError } from './transports/http-error.js';

export interface IdempotencyRunOptions extends Omit<
  IdempotentOptions,
  'required' | 'keyFrom' | 'scope' | 'fingerprint' | 'storePartial'
> {
  /** What is done, such as `'invoices.send'`: keys of one name do not meet those of another. */
  readonly name: string;
  /** Whose key it is; those without one share theirs. */
  readonly scope?: string | number | bigint | undefined;
  /** What two runs with one key must have in common. Default: nothing but the name. */
  readonly payload?: unknown;
}

/** One run of protected work, as the work itself sees it. */
export interface IdempotencyRun {
  /** Aborts when the lock of the key is lost: somebody else may do the same now. */
  readonly signal: AbortSignal;
  /**
   * Keeps `value` as the answer of this run, by way of a store that shares the records and takes part in the caller's
   * transaction (`PostgresIdempotencyStore.joining()`): answer and business data are committed together, or neither is.
   * As the last thing before the commit.
   *
   * @throws IdempotencyLockLostError when the key is not this run's any more: roll back.
   */
  keep(store: IdempotencyStore, value: unknown): Promise<void>;
}

const SUCCESS = 200;

/** Idempotency keys for work that no decorator reaches: jobs, queues, schedules, WebSocket handlers. */
@Injectable()
export class IdempotencyService {
  constructor(private readonly runtime: IdempotencyRuntime) {}

  /**
   * Runs `work` once for each key; a repeated call gets what it returned, or the client error that it threw.
   *
   * @param key As in the header: 1 to 255 characters of printable ASCII.
   * @throws IdempotencyRejectedError when the key is malformed, in use, was used for another payload, or cannot be looked up.
   *
   * @example
   * ```ts
   * await idempotency.run(job.id, () => mailer.send(job.data), { name: 'invoices.send', payload: job.data });
   * ```
   */
  async run<T>(key: string, work: (run: IdempotencyRun) => T | Promise<T>, options: IdempotencyRunOptions): Promise<T> {
    const call = this.callOf(key, options);
    const admission = await this.runtime.calls.admit(call, new AbortController().signal);
    if (admission.kind === 'run') return await this.protect(admission.held, work);
    if (admission.kind === 'unprotected') return await work(UNPROTECTED);

    const { response } = admission;
    if (response.error !== undefined) throw replayedHttpError(response);
    return response.body as T;
  }

  /** The run that the calling code belongs to, also that of a decorated handler; `undefined` outside of any. */
  get current(): IdempotencyRun | undefined {
    const held = currentCall();

    return held === undefined ? undefined : runOf(held);
  }

  private callOf(key: string, options: IdempotencyRunOptions): KeyedCall {
    const { name, scope, payload, settings } = withPath('IdempotencyService.run()', () => this.readOptions(options));
    const found = readKey(key);
    if (found.kind !== 'key') throw this.withoutKey(found, name);

    return {
      context: 'service',
      handler: name,
      key: found.key,
      scope,
      recordKey: recordKey({ key: found.key, scope, place: name }),
      fingerprint: fingerprintOf({ scope, identity: ['service', name], payload }),
      settings,
    };
  }

  private readOptions(options: IdempotencyRunOptions): CallOptions {
    requireObject(options, 'options', "Use { name: 'invoices.send' }, for example.");
    const { name, scope, payload, ...rest } = options;

    return {
      name: requireName(name, 'name'),
      scope: scopeText(scope, name),
      payload,
      settings: mergeOptions(this.runtime.settings.handlers, readHandlerOptions(rest)),
    };
  }

  private withoutKey(
    found: { readonly kind: 'missing' } | { readonly kind: 'invalid'; readonly problem: string },
    handler: string,
  ): IdempotencyRejectedError {
    const problem = found.kind === 'missing' ? 'is empty' : found.problem;
    const error = new IdempotencyRejectedError('IDEMPOTENCY_KEY_INVALID', `The idempotency key ${problem}`);
    const { code, status } = error;
    this.runtime.events.emit({ type: 'rejected', context: 'service', handler, code, status });

    return error;
  }

  private async protect<T>(held: HeldCall, work: (run: IdempotencyRun) => T | Promise<T>): Promise<T> {
    let value: T;
    try {
      value = await held.run(async () => await work(runOf(held)));
    } catch (error) {
      await this.settle(held, () => ({ ...storedHttpError(error), headers: {} }), error);
      throw error;
    }

    await this.settle(held, () => success(value));
    return value;
  }

  private async settle(
    held: HeldCall,
    read: () => IdempotencyStoredResponse,
    ...thrown: [error?: unknown]
  ): Promise<void> {
    const response = readSafely(read, held.reports);
    if (response === undefined) return await held.free('unstorable');

    const { storeIf, maxBodySize } = held.call.settings;
    if (!storeIf(response.status, ...thrown)) return await held.free('outcome');
    const size = maxBodySize === Infinity ? 0 : Buffer.byteLength(JSON.stringify(response.body ?? null));
    await (size > maxBodySize ? held.free('too-large') : held.keepOutcome(response));
  }
}

interface CallOptions {
  readonly name: string;
  readonly scope: string | undefined;
  readonly payload: unknown;
  readonly settings: HandlerSettings;
}

/** Nobody can take a key from a run that has none. */
const UNPROTECTED: IdempotencyRun = {
  signal: new AbortController().signal,
  keep: async () => {},
};

function runOf(held: HeldCall): IdempotencyRun {
  return {
    signal: held.lock.signal,
    keep: (store, value) => held.keepOutcomeIn(store, success(value)),
  };
}

function success(value: unknown): IdempotencyStoredResponse {
  const body = encodeValue(value);

  return { status: SUCCESS, headers: {}, ...(body === undefined ? {} : { body }) };
}

function readSafely(
  read: () => IdempotencyStoredResponse,
  reports: CallReports,
): IdempotencyStoredResponse | undefined {
  try {
    return read();
  } catch (error) {
    reports.captureFailed(error);
    return undefined;
  }
}
