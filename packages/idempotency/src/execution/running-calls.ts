import { now } from 'holdfast/binding';
import type { HeldCall } from './held-call.js';
import { atMost } from './pause.js';

/** The calls of one application that hold a lock. */
export class RunningCalls {
  private readonly calls = new Set<HeldCall>();
  /** On the engine's clock. */
  private closedAt: number | undefined = undefined;

  add(call: HeldCall): HeldCall {
    this.calls.add(call);
    void call.over.then(() => this.calls.delete(call));
    if (this.isClosing) call.lock.shorten();

    return call;
  }

  get size(): number {
    return this.calls.size;
  }

  /** Whether the process is about to go: nobody should wait for anything in it any more. */
  get isClosing(): boolean {
    return this.closedAt !== undefined;
  }

  /**
   * The process is about to go, and may be killed at any moment: whatever runs, now or from here on, keeps its key locked
   * for as long as it really runs, and for a few seconds after its process has died.
   */
  close(): void {
    if (this.isClosing) return;

    this.closedAt = now();
    for (const { lock } of this.calls) lock.shorten();
  }

  /**
   * Gives the calls that run time to end, not those that still come.
   *
   * @param graceMs Milliseconds, since {@link close}.
   */
  async settle(graceMs: number): Promise<void> {
    await this.wait(graceMs, () => this.present());
  }

  /**
   * Gives calls time to end, also those that begin meanwhile.
   *
   * @param graceMs Milliseconds, since {@link close}.
   */
  async drain(graceMs: number): Promise<void> {
    await this.wait(graceMs, async () => {
      while (this.calls.size > 0) await this.present();
    });
  }

  private async present(): Promise<void> {
    await Promise.all(Array.from(this.calls, ({ over }) => over));
  }

  private async wait(graceMs: number, end: () => Promise<void>): Promise<void> {
    this.close();
    const left = (this.closedAt ?? 0) + graceMs - now();
    if (this.calls.size > 0 && left > 0) await atMost(left, end(), { holdsProcess: true });
  }
}
