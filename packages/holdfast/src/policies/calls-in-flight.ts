/**
 * A call that a circuit breaker has let through.
 *
 * @internal
 */
export class Permit {
  /** The breaker's era in which it was given. */
  readonly era: object;
  /** 0 where nobody will ask. */
  readonly enteredAt: number;
  /** How long the call had waited in our own queues by then, in milliseconds. */
  readonly waitedBefore: number;
  previous: Permit | undefined = undefined;
  next: Permit | undefined = undefined;
  /** Whether it stands in a list of calls in flight, and on which side of "slow". */
  isTracked = false;
  isSlow = false;

  constructor(era: object, enteredAt: number, waitedBefore: number) {
    this.era = era;
    this.enteredAt = enteredAt;
    this.waitedBefore = waitedBefore;
  }
}

/**
 * Calls in flight in the order in which they began, and how many of them are slow already.
 *
 * @internal
 */
export class CallsInFlight {
  slow = 0;
  #last: Permit | undefined = undefined;
  /** The oldest call that is not slow yet; all before it are. */
  #nextToBeSlow: Permit | undefined = undefined;

  add(permit: Permit): void {
    permit.isTracked = true;
    permit.previous = this.#last;
    if (this.#last !== undefined) this.#last.next = permit;
    this.#last = permit;
    this.#nextToBeSlow ??= permit;
  }

  remove(permit: Permit): void {
    if (permit.isSlow) this.slow -= 1;
    if (this.#nextToBeSlow === permit) this.#nextToBeSlow = permit.next;
    if (this.#last === permit) this.#last = permit.previous;
    if (permit.previous !== undefined) permit.previous.next = permit.next;
    if (permit.next !== undefined) permit.next.previous = permit.previous;
    permit.isTracked = false;
    permit.previous = permit.next = undefined;
  }

  /** Counts the calls that have become slow by `time`. */
  advance(time: number, slowMs: number): void {
    for (let permit = this.#nextToBeSlow; permit !== undefined; permit = permit.next) {
      if (time - permit.enteredAt < slowMs) return;

      permit.isSlow = true;
      this.slow += 1;
      this.#nextToBeSlow = permit.next;
    }
  }
}
