import { parseDuration, type Duration } from '../duration.js';
import type { AttemptContext } from '../scope.js';
import { startTimer, stopTimer } from '../timers.js';

/** What a scripted downstream does with one call. */
export type Step =
  /** Answers, at once or after a while. */
  | { readonly answer: unknown; readonly after?: Duration }
  /** Fails with an error, or with a {@link DownstreamError} of this status. */
  | { readonly fail: unknown; readonly after?: Duration }
  /** Never answers. */
  | { readonly hang: true };

export interface CallRecord {
  readonly attempt: number;
  state: 'running' | 'answered' | 'failed' | 'cancelled';
  /** The reason of the abort that ended it. */
  reason?: unknown;
}

/** What a downstream that answers with a status looks like to its client. */
export class DownstreamError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The downstream answered with status ${status}`);
    this.name = 'DownstreamError';
    this.status = status;
  }
}

export interface DownstreamOptions {
  /** Whether an abort of the attempt's signal ends the call, as it does with `fetch`. Default `true`. */
  readonly honoursSignal?: boolean;
}

/**
 * A dependency that behaves as written, one step per call; the last step repeats. Pass `downstream.call` to a policy:
 *
 * ```ts
 * const downstream = new ScriptedDownstream([{ fail: 503 }, { answer: 'ok', after: '50ms' }]);
 * await new RetryPolicy(3).execute(downstream.call);
 * ```
 */
export class ScriptedDownstream {
  /** One record per call, in order. */
  readonly calls: CallRecord[] = [];
  readonly #steps: readonly Step[];
  readonly #honoursSignal: boolean;

  constructor(steps: readonly Step[], { honoursSignal = true }: DownstreamOptions = {}) {
    if (steps.length === 0) throw new TypeError('steps: expected at least one step, such as { answer: 1 }, got none.');

    this.#steps = steps;
    this.#honoursSignal = honoursSignal;
  }

  /** Calls that run now. */
  get running(): number {
    return this.calls.filter((call) => call.state === 'running').length;
  }

  /** The work to run under a policy; bound, so that it can be passed on by itself. */
  readonly call = (context: AttemptContext): Promise<unknown> => {
    const step = this.#steps[Math.min(this.calls.length, this.#steps.length - 1)] as Step;
    const record: CallRecord = { attempt: context.attempt, state: 'running' };
    this.calls.push(record);

    return new Promise((resolve, reject) => {
      const stop = follow(step, (state) => {
        record.state = state;
        if ('answer' in step) resolve(step.answer);
        else if ('fail' in step) reject(failure(step.fail));
      });
      if (this.#honoursSignal) cancelWith(context.signal, record, (reason) => (stop(), reject(reason)));
    });
  };
}

/** Ends a step in its time. Returns what stops it. */
function follow(step: Step, end: (state: 'answered' | 'failed') => void): () => void {
  if ('hang' in step) return () => {};

  const state = 'answer' in step ? 'answered' : 'failed';
  if (step.after === undefined) {
    end(state);
    return () => {};
  }

  const timer = startTimer(parseDuration(step.after, 'after'), end, state);
  return () => stopTimer(timer);
}

function cancelWith(signal: AbortSignal, record: CallRecord, cancel: (reason: unknown) => void): void {
  if (record.state !== 'running') return;

  const onAbort = (): void => {
    if (record.state !== 'running') return;

    record.state = 'cancelled';
    record.reason = signal.reason;
    cancel(signal.reason);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
}

function failure(fail: unknown): unknown {
  return typeof fail === 'number' ? new DownstreamError(fail) : fail;
}
