import type { Scope } from './scope.js';
import type { Link } from './signals.js';

/**
 * What ties a call to its caller, and its time in our own queues. Most calls have none of it.
 *
 * @internal
 */
export class Ties {
  outer: Scope | undefined = undefined;
  outerLink: Link | undefined = undefined;
  callerLink: Link | undefined = undefined;
  /** In milliseconds. */
  waited = 0;
  waitsSince: number | undefined = undefined;

  cut(): void {
    this.callerLink?.cut();
    this.callerLink = undefined;
    if (this.outerLink !== undefined) this.outer?.leave(this.outerLink);
    this.outerLink = undefined;
  }
}
