import type { Deadline } from './deadline.js';
import { livingScope, type AttemptContext, type Bound, type Scope } from './scope.js';
import { FollowerList, type Follower, type Link } from './signals.js';

/**
 * What an attempt tells the execution that it belongs to.
 *
 * @internal
 */
export interface AttemptOwner {
  /** The work waits in one of our queues, or goes on. */
  markWaiting(waits: boolean): void;
  readonly deadline: Deadline | undefined;
  /** The limit that will cut the work. */
  readonly bound: Bound | undefined;
  /** Whether anything is held for work that is given up. */
  readonly holdsForWork: boolean;
}

/**
 * Something that is held on behalf of an attempt's work, and given back when that work has really ended.
 *
 * @internal
 */
export interface Holding {
  onWorkEnded(): void;
}

type AttemptState = 'running' | 'settled' | 'abandoned' | 'ended';

/**
 * One run of the work, and what the work is given. Its signal is made when somebody asks for it: most work that is
 * quick never does. An attempt that was given up stays `abandoned` until its work has settled after all.
 *
 * @internal
 */
export class Attempt implements AttemptContext, Scope {
  readonly attempt: number;
  outer: Scope | undefined;
  /** @internal */
  state: AttemptState = 'running';
  /** @internal */
  owner: AttemptOwner | undefined;
  private controller: AbortController | undefined = undefined;
  /** Apart, since most attempts need none of it. */
  private belongings: Belongings | undefined = undefined;

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

  get deadline(): Deadline | undefined {
    return this.owner?.deadline;
  }

  get bound(): Bound | undefined {
    return this.owner?.bound;
  }

  get ended(): boolean {
    return this.state !== 'running';
  }

  get aborted(): boolean {
    return this.state === 'abandoned' || this.state === 'ended';
  }

  /** The work has settled in time. From now on nothing aborts its signal: what it returned may still be read. */
  settle(): void {
    this.close('settled');
    this.belongings?.inside?.executions.dismissAll();
  }

  /** Gives the attempt up: its signal aborts, and so does everything that was started inside. */
  abandon(reason: unknown): void {
    this.close('abandoned');
    const own = (this.belongings ??= new Belongings());
    own.reason = reason;
    own.inside?.executions.abortAll(reason);
    this.controller?.abort(reason);
  }

  /** Keeps something for work that was abandoned and has not ended. */
  hold(holding: Holding): void {
    const own = (this.belongings ??= new Belongings());
    (own.afterlife ??= new Afterlife()).holdings.push(holding);
  }

  /** Knows of a promise of the work that nobody will be listening to once the attempt is given up. */
  watch(work: PromiseLike<unknown>): void {
    if (this.owner?.holdsForWork === false) return;

    const own = (this.belongings ??= new Belongings());
    const afterlife = (own.afterlife ??= new Afterlife());
    afterlife.watched += 1;
    const unwatch = (): void => {
      afterlife.watched -= 1;
      if (afterlife.watched === 0) this.end();
    };
    work.then(unwatch, unwatch);
  }

  /**
   * A promise of what the work has returned. Thenables that are none, such as the queries of a builder, begin when
   * somebody waits for them, one microtask from now: not any more when the attempt is given up before.
   */
  promiseOf(work: PromiseLike<unknown>): Promise<unknown> {
    if (work instanceof Promise && work.constructor === Promise) return work;

    const begin = (resolve: (value: unknown) => void, reject: (reason: unknown) => void): void => {
      if (this.aborted) reject(this.reason);
      else void work.then(resolve, reject);
    };
    // oxlint-disable-next-line unicorn/no-thenable
    return Promise.resolve({ then: begin } as PromiseLike<unknown>);
  }

  /** Why it was given up. */
  get reason(): unknown {
    return this.belongings?.reason;
  }

  /** Whether a promise that is watched is still pending. */
  get isWatched(): boolean {
    const afterlife = this.belongings?.afterlife;

    return afterlife !== undefined && afterlife.watched > 0;
  }

  /** The work of an abandoned attempt has settled, unheard. */
  end(): void {
    if (this.state !== 'abandoned') return;

    this.state = 'ended';
    const own = this.belongings;
    own?.afterlife?.holdings.forEach((holding) => holding.onWorkEnded());
    if (own !== undefined) own.afterlife = undefined;
  }

  hasGiven(signal: AbortSignal): boolean {
    return signal === this.controller?.signal;
  }

  follow(follower: Follower): Link {
    const own = (this.belongings ??= new Belongings());
    const inside = (own.inside ??= new Inside());
    const waited = inside.allWait;
    inside.count += 1;
    this.tellWaiting(inside, waited);

    return inside.executions.add(follower);
  }

  leave(link: Link): void {
    link.cut();
    const inside = this.belongings?.inside as Inside;
    const waited = inside.allWait;
    inside.count -= 1;
    this.tellWaiting(inside, waited);
  }

  onWait(begins: boolean): void {
    const inside = this.belongings?.inside as Inside;
    const waited = inside.allWait;
    inside.waiting += begins ? 1 : -1;
    this.tellWaiting(inside, waited);
  }

  private tellWaiting({ allWait }: Inside, waited: boolean): void {
    if (allWait !== waited && this.state === 'running') this.owner?.markWaiting(allWait);
  }

  /**
   * The async contexts of what was started inside hold on to the attempt long after it is over. It lets go of its call
   * and of the scopes around it that are over too: else each call that is started in the wake of another, from a
   * timer, say, would keep all those before it.
   */
  private close(state: AttemptState): void {
    if (this.belongings?.inside?.allWait === true) this.owner?.markWaiting(false);
    this.state = state;
    this.owner = undefined;
    if (this.outer !== undefined) this.outer = livingScope(this.outer);
  }
}

/** What an attempt has once something is started inside, its work is watched, or it is given up. */
class Belongings {
  /** Why it was given up. */
  reason: unknown = undefined;
  inside: Inside | undefined = undefined;
  afterlife: Afterlife | undefined = undefined;
}

/** The executions that were started inside an attempt and have not ended. */
class Inside {
  readonly executions = new FollowerList();
  count = 0;
  /** How many of them wait in a queue. */
  waiting = 0;

  /** Time counts as waiting while all that runs inside waits. */
  get allWait(): boolean {
    return this.waiting > 0 && this.waiting === this.count;
  }
}

/** What is to be done once work that may outlive its attempt has ended. */
class Afterlife {
  readonly holdings: Holding[] = [];
  /** Promises of the work that are pending. */
  watched = 0;
}
