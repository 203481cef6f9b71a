import type { HeldCall } from './held-call.js';
import { atMost } from './pause.js';

/** The calls of one application that hold a lock. */
export class RunningCalls {
  private readonly calls = new Set<HeldCall>();
  private closing = false;

  add(call: HeldCall): HeldCall {
    this.calls.add(call);
    void call.over.then(() => this.calls.delete(call));
    if (this.closing) call.lock.shorten();

    return call;
  }

  get size(): number {
    return this.calls.size;
  }

  /** Whether the process is about to go: nobody should wait for anything in it any more. */
  get isClosing(): boolean {
    return this.closing;
  }

  /**
   * The process is about to go, and may be killed at any moment: whatever runs, now or from here on, keeps its key locked
   * for as long as it really runs, and for a few seconds after its process has died.
   */
  close(): void {
    if (this.closing) return;

    this.closing = true;
    for (const { lock } of this.calls) lock.shorten();
  }

  /**
   * Gives calls time to end, also those that begin meanwhile.
   *
   * @param graceMs Milliseconds.
   */
  async drain(graceMs: number): Promise<void> {
    this.close();
    if (this.calls.size === 0) return;

    await atMost(graceMs, this.end(), { holdsProcess: true });
  }

  private async end(): Promise<void> {
    while (this.calls.size > 0) await Promise.all(Array.from(this.calls, ({ over }) => over));
  }
}
