/**
 * What stands in a {@link WaitingLine}.
 *
 * @internal
 */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * Calls that wait, one behind the other; joining and leaving cost the same for any length.
 *
 * @internal
 */
export class WaitingLine<T extends Linked<T>> {
  length = 0;
  first: T | undefined = undefined;
  last: T | undefined = undefined;

  /** Puts somebody behind another one, or in front of all. */
  insert(waiter: T, behind: T | undefined): void {
    const next = behind === undefined ? this.first : behind.next;
    waiter.previous = behind;
    waiter.next = next;
    if (behind === undefined) this.first = waiter;
    else behind.next = waiter;
    if (next === undefined) this.last = waiter;
    else next.previous = waiter;
    this.length += 1;
  }

  remove(waiter: T): void {
    if (waiter.previous === undefined) this.first = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === undefined) this.last = waiter.previous;
    else waiter.next.previous = waiter.previous;
    waiter.previous = waiter.next = undefined;
    this.length -= 1;
  }
}
