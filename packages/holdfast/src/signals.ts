import { hiddenField } from './hidden-field.js';

/**
 * Who is aborted together with whom. Executions follow their caller's signal and the attempt that they were started
 * in, through lists of our own with constant cost for joining, leaving and a following of any size; a real listener
 * stands only where a signal of the platform comes in, one per signal however many executions follow it.
 *
 * `AbortSignal.any()` and `AbortSignal.timeout()` are not used: composites of them lose aborts once collected, or
 * grow without bound on a long-lived source, on Node versions that we support.
 */

/** @internal */
export interface Follower {
  /** Called once, when the followed aborts. The link is gone by then. */
  onAbort(reason: unknown): void;
}

/**
 * The place of a follower in a list.
 *
 * @internal
 */
export class Link {
  readonly follower: Follower;
  /** The list that it stands in; `undefined` once it has left. */
  list: FollowerList | undefined;
  previous: Link | undefined = undefined;
  next: Link | undefined = undefined;

  constructor(follower: Follower, list: FollowerList) {
    this.follower = follower;
    this.list = list;
  }

  /** Stops following. */
  cut(): void {
    this.list?.remove(this);
  }
}

/**
 * Followers in the order in which they came.
 *
 * @internal
 */
export class FollowerList {
  #first: Link | undefined = undefined;
  #last: Link | undefined = undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(follower: Follower): Link {
    const link = new Link(follower, this);
    link.previous = this.#last;
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;

    return link;
  }

  remove(link: Link): void {
    if (link.previous === undefined) this.#first = link.next;
    else link.previous.next = link.next;
    if (link.next === undefined) this.#last = link.previous;
    else link.next.previous = link.previous;
    link.list = link.previous = link.next = undefined;
  }

  /** Empties the list and aborts each of its followers. */
  abortAll(reason: unknown): void {
    for (let link = this.#first; link !== undefined; link = this.#first) {
      this.remove(link);
      link.follower.onAbort(reason);
    }
  }

  /** Empties the list without a word: nobody will be aborted from here any more. */
  dismissAll(): void {
    for (let link = this.#first; link !== undefined; link = this.#first) this.remove(link);
  }
}

/** The followers of a signal of the platform; listens as long as there are any. */
class SignalFollowers extends FollowerList {
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    super();
    this.#signal = signal;
  }

  override add(follower: Follower): Link {
    if (this.isEmpty) this.#signal.addEventListener('abort', this);

    return super.add(follower);
  }

  override remove(link: Link): void {
    super.remove(link);
    if (this.isEmpty) this.#signal.removeEventListener('abort', this);
  }

  /** The listener that stands on the signal. */
  handleEvent(): void {
    this.abortAll(this.#signal.reason);
  }
}

const followersOf = hiddenField<AbortSignal, SignalFollowers>();

/** Follows a signal that has not aborted yet. */
export function followSignal(signal: AbortSignal, follower: Follower): Link {
  let followers = followersOf.of(signal);
  if (followers === undefined) {
    followers = new SignalFollowers(signal);
    followersOf.give(signal, followers);
  }

  return followers.add(follower);
}

const controllerOf = hiddenField<AbortSignal, AbortController>();
const collected = new FinalizationRegistry<Link>((link) => link.cut());

/**
 * Lets the controller's signal go on following `source` for as long as somebody holds it: unlike an ordinary follower
 * it is not kept alive by a source that outlives it.
 */
export function followWeakly(source: AbortSignal, controller: AbortController): void {
  const weakly = new WeakRef(controller.signal);
  controllerOf.give(controller.signal, controller);
  const link = followSignal(source, {
    onAbort(reason) {
      const signal = weakly.deref();
      if (signal !== undefined) controllerOf.of(signal)?.abort(reason);
    },
  });
  collected.register(controller.signal, link);
}
