import type { AttemptContext } from '../src/index.js';

export interface ManualCall {
  readonly context: AttemptContext;
  readonly answer: (value?: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** Work whose runs end when the test says so, and that ignores its signal. */
export class ManualWork {
  /** One entry per run, in the order in which they began. */
  readonly calls: ManualCall[] = [];

  /** Bound, so that it can be passed to `execute()` by itself. */
  readonly run = (context: AttemptContext): Promise<unknown> =>
    new Promise((resolve, reject) => {
      this.calls.push({ context, answer: resolve, fail: reject });
    });

  call(index: number): ManualCall {
    const call = this.calls[index];
    if (call === undefined) throw new Error(`The work ran ${this.calls.length} times, so there is no run ${index}.`);

    return call;
  }
}
