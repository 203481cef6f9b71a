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

  constructor(era: object, enteredAt: number, waitedBefore: number) {
    this.era = era;
    this.enteredAt = enteredAt;
    this.waitedBefore = waitedBefore;
  }
}

/**
 * A permit that stands in a list of calls in flight.
 *
 * @internal
 */
export class TrackedPermit extends Permit {
  previous: TrackedPermit | undefined = undefined;
  next: TrackedPermit | undefined = undefined;
  isSlow = false;
}

/**
 * Calls in flight in the order in which they began, and how many of them are slow already.
 *
 * @internal
 */
export class CallsInFlight {
  slow = 0;
  #last: TrackedPermit | undefined = undefined;
  /** The oldest call that is not slow yet; all before it are. */
  #nextToBeSlow: TrackedPermit | undefined = undefined;

  add(permit: TrackedPermit): void {
    permit.previous = this.#last;
    if (this.#last !== undefined) this.#last.next = permit;
    this.#last = permit;
    this.#nextToBeSlow ??= permit;
  }

  remove(permit: TrackedPermit): void {
    if (permit.isSlow) this.slow -= 1;
    if (this.#nextToBeSlow === permit) this.#nextToBeSlow = permit.next;
    if (this.#last === permit) this.#last = permit.previous;
    if (permit.previous !== undefined) permit.previous.next = permit.next;
    if (permit.next !== undefined) permit.next.previous = permit.previous;
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
