import type { HeldCall } from './held-call.js';

/** The calls of one application that hold a lock. */
export class RunningCalls {
  private readonly calls = new Set<HeldCall>();

  add(call: HeldCall): HeldCall {
    this.calls.add(call);
    void call.over.then(() => this.calls.delete(call));

    return call;
  }

  get size(): number {
    return this.calls.size;
  }

  /**
   * The process is about to go. Calls get time to end; whichever does not, keeps its key locked for as long as it really
   * runs, and for a few seconds after its process has died.
   *
   * @param graceMs Milliseconds.
   */
  async drain(graceMs: number): Promise<void> {
    for (const { lock } of this.calls) lock.shorten();
    if (this.calls.size === 0) return;

    let timer: NodeJS.Timeout | undefined;
    // The process has to stay for this one.
    const grace = new Promise((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([Promise.all(Array.from(this.calls, ({ over }) => over)), grace]);
    clearTimeout(timer);
  }
}
