/** The life of one call, whatever policies it runs under. Collects what must never happen. */
export class CallModel {
  readonly problems: string[] = [];
  private reason: unknown = undefined;
  private isAborted = false;
  private isInMidst = false;
  private deliveries = 0;

  get isSettled(): boolean {
    return this.deliveries > 0;
  }

  begin(): void {
    if (this.isSettled) this.problems.push('work began after the call had settled');
    if (this.isAborted) this.problems.push('work began after the caller had left');
  }

  /** A policy tells something of this call: of a retry that comes, of a fallback that answers. */
  hear(event: string): void {
    if (this.isSettled) this.problems.push(`"${event}" was told after the call had settled`);
  }

  deliver(ok: boolean, value: unknown): void {
    this.deliveries += 1;
    if (this.deliveries > 1) this.problems.push('the call settled twice');
    if (!this.isAborted || (!ok && value === this.reason)) return;

    const isTimeout = (value as { readonly code?: unknown } | undefined)?.code === 'TIMEOUT';
    if (ok || !this.isInMidst || !isTimeout) this.problems.push("the outcome is not the caller's reason");
  }

  /** The caller leaves; in the midst of something, a timeout may have been first. */
  abort(reason: unknown, isInMidst: boolean): void {
    if (this.isSettled) return;

    this.isAborted = true;
    this.isInMidst = isInMidst;
    this.reason = reason;
  }

  /** The caller has left. */
  aborted(): void {
    if (!this.isSettled) this.problems.push('the call did not settle at once when its caller left');
  }

  /** All that runs has ended, all time has passed. */
  end(): void {
    if (!this.isSettled) this.problems.push('the call never settled');
  }
}
