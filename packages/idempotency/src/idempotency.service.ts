import { Injectable } from '@nestjs/common';
import { currentScope, rejectUnknown, requireName, requireObject, withPath } from 'holdfast/binding';
import { chooseBySettings, isCutOff, type Choice } from './execution/choice.js';
import { capturePlainly, currentCall, type HeldCall } from './execution/held-call.js';
import type { KeyedCall } from './execution/keyed-call.js';
import { IdempotencyRejectedError } from './execution/rejection.js';
import type { IdempotentOptions } from './idempotency.options.js';
import { IdempotencyRuntime } from './idempotency.runtime.js';
import { fingerprintOf } from './key/fingerprint.js';
import { readKey } from './key/idempotency-key.js';
import { recordKey } from './key/record-key.js';
import { scopeText } from './key/scope.js';
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
   * As the last thing before the commit. Of a decorated handler it is kept as if it had been returned, with the status and
   * headers that are set by then; interceptors inside of the keys do not see it.
   *
   * @throws IdempotencyLockLostError when the key is not this run's any more: roll back.
   * @throws What the attempt that calls it was given up with: roll back, the next attempt keeps its own.
   */
  keep(store: IdempotencyStore, value: unknown): Promise<void>;
}

/** Idempotency keys for work that no decorator reaches: jobs, queues, schedules, WebSocket handlers. */
@Injectable()
export class IdempotencyService {
  /** Names of work that was warned of: names are few, and may be run without end. */
  private readonly toldTooLarge = new Set<string>();

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
    const around = currentScope();
    const admission = await this.runtime.calls.admit(call, () => around?.aborted === true);
    if (admission.kind === 'run') {
      if (around?.aborted !== true) return await this.protect(admission.held, work);

      // Taken for somebody who has given up meanwhile.
      await admission.held.settle({ free: 'unsubscribed' });
      throw around.signal.reason;
    }
    if (admission.kind === 'unprotected') return await work(unprotected());

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
      recordKey: recordKey({ key: found.key, scope, place: `service.${name}` }),
      fingerprint: fingerprintOf({ scope, identity: ['service', name], payload }),
      settings,
    };
  }

  private readOptions(options: IdempotencyRunOptions): CallOptions {
    requireObject(options, 'options', "Use { name: 'invoices.send' }, for example.");
    rejectUnknown(options, RUN_OPTIONS);
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
      const read = (): IdempotencyStoredResponse => ({ ...storedHttpError(error), headers: {} });
      await held.settle(this.choose(held, read, error));
      throw error;
    }

    await held.settle(this.choose(held, () => capturePlainly(value)));
    return value;
  }

  /** Never throws: what an application's own code throws here is logged, and nothing is kept. */
  private choose(held: HeldCall, read: () => IdempotencyStoredResponse, ...thrown: readonly [error?: unknown]): Choice {
    try {
      if (thrown.length > 0 && isCutOff(thrown[0])) return { free: 'outcome' };

      const choice = chooseBySettings(read(), held.call.settings, ...thrown);
      if ('free' in choice && choice.free === 'too-large') this.warnTooLarge(held);
      return choice;
    } catch (error) {
      held.reports.captureFailed(error);
      return { free: 'unstorable' };
    }
  }

  private warnTooLarge({ call: { handler }, reports }: HeldCall): void {
    if (this.toldTooLarge.has(handler)) return;

    this.toldTooLarge.add(handler);
    reports.warn(
      'the answer is larger than maxBodySize, and is not kept: a repeated call runs the work again (told once)',
    );
  }
}

/** Of a decorator's options those that say something about work without a request, and what stands for the request. */
const RUN_OPTIONS = [
  'name',
  'scope',
  'payload',
  'ttl',
  'lockTtl',
  'maxLockHold',
  'retryAfter',
  'storeIf',
  'onInFlight',
  'maxWait',
  'onStoreError',
  'maxBodySize',
] as const satisfies readonly (keyof IdempotencyRunOptions)[];

interface CallOptions {
  readonly name: string;
  readonly scope: string | undefined;
  readonly payload: unknown;
  readonly settings: HandlerSettings;
}

/** Nobody can take a key from a run that has none. Its signal is its own: of one for all, no listener would ever be freed. */
function unprotected(): IdempotencyRun {
  return { signal: new AbortController().signal, keep: async () => {} };
}

function runOf(held: HeldCall): IdempotencyRun {
  return {
    signal: held.lock.signal,
    keep: (store, value) => held.keepValueIn(store, value),
  };
}
