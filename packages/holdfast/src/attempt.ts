import type { AttemptContext, Scope } from './scope.js';
import { FollowerList, type Follower, type Link } from './signals.js';

/** What an attempt tells the execution that it belongs to. */
export interface AttemptOwner {
  /** The work waits in one of our queues, or goes on. */
  markWaiting(waits: boolean): void;
  /** Whether anything is held for work that is given up. */
  readonly holdsForWork: boolean;
}

/** Something that is held on behalf of an attempt's work, and given back when that work has really ended. */
export interface Holding {
  onWorkEnded(): void;
}

type AttemptState = 'running' | 'settled' | 'abandoned' | 'ended';

/**
 * One run of the work, and what the work is given. Its signal is made when somebody asks for it: most work that is
 * quick never does. An attempt that was given up stays `abandoned` until its work has settled after all.
 */
export class Attempt implements AttemptContext, Scope {
  readonly attempt: number;
  readonly outer: Scope | undefined;
  /** @internal */
  state: AttemptState = 'running';
  private readonly owner: AttemptOwner;
  private controller: AbortController | undefined = undefined;
  private reason: unknown = undefined;
  private followers: FollowerList | undefined = undefined;
  private holdings: Holding[] | undefined = undefined;
  private watched = 0;
  /** Executions that were started inside and have not ended, and how many of them wait in a queue. */
  private following = 0;
  private waiting = 0;

  constructor(owner: AttemptOwner, attempt: number, outer: Scope | undefined) {
    this.owner = owner;
    this.attempt = attempt;
    this.outer = outer;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.aborted) this.controller.abort(this.reason);
    }

    return this.controller.signal;
  }

  get ended(): boolean {
    return this.state !== 'running';
  }

  get aborted(): boolean {
    return this.state === 'abandoned' || this.state === 'ended';
  }

  /** The work has settled in time. From now on nothing aborts its signal: what it returned may still be read. */
  settle(): void {
    this.stopWaiting();
    this.state = 'settled';
    this.followers?.dismissAll();
  }

  /** Gives the attempt up: its signal aborts, and so does everything that was started inside. */
  abandon(reason: unknown): void {
    this.stopWaiting();
    this.state = 'abandoned';
    this.reason = reason;
    this.followers?.abortAll(reason);
    this.controller?.abort(reason);
  }

  /** Keeps something for work that was abandoned and has not ended. */
  hold(holding: Holding): void {
    (this.holdings ??= []).push(holding);
  }

  /** Knows of a promise of the work that nobody will be listening to once the attempt is given up. */
  watch(work: PromiseLike<unknown>): void {
    if (!this.owner.holdsForWork) return;

    this.watched += 1;
    const unwatch = (): void => {
      this.watched -= 1;
      if (this.watched === 0) this.end();
    };
    work.then(unwatch, unwatch);
  }

  /** Whether a promise that is watched is still pending. */
  get isWatched(): boolean {
    return this.watched > 0;
  }

  /** The work of an abandoned attempt has settled, unheard. */
  end(): void {
    if (this.state !== 'abandoned') return;

    this.state = 'ended';
    const holdings = this.holdings;
    this.holdings = undefined;
    if (holdings !== undefined) for (const holding of holdings) holding.onWorkEnded();
  }

  follow(follower: Follower): Link {
    this.updateWaiting(1, 0);

    return (this.followers ??= new FollowerList()).add(follower);
  }

  leave(link: Link): void {
    link.cut();
    this.updateWaiting(-1, 0);
  }

  onWait(begins: boolean): void {
    this.updateWaiting(0, begins ? 1 : -1);
  }

  /** Time counts as waiting while all that runs inside waits. */
  private updateWaiting(following: number, waiting: number): void {
    const waited = this.allWait();
    this.following += following;
    this.waiting += waiting;
    const waits = this.allWait();
    if (waits !== waited && this.state === 'running') this.owner.markWaiting(waits);
  }

  private stopWaiting(): void {
    if (this.allWait()) this.owner.markWaiting(false);
  }

  private allWait(): boolean {
    return this.waiting > 0 && this.waiting === this.following;
  }
}
