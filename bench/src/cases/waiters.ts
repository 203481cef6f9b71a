import { bulkhead as cockatielBulkhead } from 'cockatiel';
import { BulkheadPolicy } from 'holdfast';
import PQueue from 'p-queue';
import { WaitingLine } from '../floors/waiting-line.js';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

type Work = () => Promise<void>;

/** A queue before one slot: runs the work when its turn comes, unless the signal aborts before. */
type Join = (work: Work, signal?: AbortSignal) => Promise<unknown>;

/** Queues in which one can wait, each a new one. */
const QUEUES = {
  holdfast: (): Join => {
    const policy = new BulkheadPolicy({ maxConcurrent: 1, maxQueue: Infinity });

    return (work, signal) => policy.execute(work, { signal });
  },
  'by hand': (): Join => {
    const line = new WaitingLine();

    return (work, signal) => line.run(work, signal);
  },
  cockatiel: (): Join => {
    const policy = cockatielBulkhead(1, Infinity);

    return (work, signal) => policy.execute(work, signal);
  },
  'p-queue': (): Join => {
    const queue = new PQueue({ concurrency: 1 });

    return (work, signal) => queue.add(work, signal === undefined ? {} : { signal });
  },
} satisfies Readonly<Record<string, () => Join>>;

export type Queue = keyof typeof QUEUES;

/** What waiters do, one after the other, so that always as many wait as before. */
export type Step = 'leave-newest' | 'leave-any' | 'grant';

const REASON = new Error('gone');

interface Waiter {
  readonly controller: AbortController;
  readonly call: Promise<unknown>;
}

/** A queue in which so many wait for a slot that is taken. */
class Crowd {
  readonly #join: Join;
  readonly #waiters: Waiter[] = [];
  #end: () => void = () => {};
  #onStart: () => void = () => {};
  #random = 1;

  constructor(join: Join, size: number, withSignals: boolean) {
    this.#join = join;
    void join(this.#hold);
    for (let waiter = 0; waiter < size; waiter++) {
      if (withSignals) this.#waiters.push(this.#wait());
      else void join(this.#hold);
    }
  }

  /** Somebody joins, and leaves at once. */
  readonly leaveNewest = async (): Promise<void> => this.#leave(this.#wait());

  /** Somebody joins, and another leaves who has waited for any time. */
  readonly leaveAny = async (): Promise<void> => {
    // A linear congruential generator: as random as it needs to be, and the same in each run.
    this.#random = (this.#random * 1_103_515_245 + 12_345) % 2_147_483_648;
    const at = this.#random % this.#waiters.length;
    const leaving = this.#waiters[at] as Waiter;
    this.#waiters[at] = this.#wait();
    await this.#leave(leaving);
  };

  /** Somebody joins; who has the slot gives it to the first in the queue. */
  readonly grant = async (): Promise<void> => {
    const end = this.#end;
    void this.#join(this.#hold);
    const started = new Promise<void>((resolve) => (this.#onStart = resolve));
    end();
    await started;
  };

  /** Work that ends when the slot is to go on. */
  readonly #hold = (): Promise<void> => {
    this.#onStart();

    return new Promise((resolve) => (this.#end = resolve));
  };

  #wait(): Waiter {
    const controller = new AbortController();

    return { controller, call: this.#join(this.#hold, controller.signal) };
  }

  async #leave({ controller, call }: Waiter): Promise<void> {
    controller.abort(REASON);
    try {
      await call;
    } catch (error) {
      if (error === REASON) return;
    }
    throw new Error('Somebody who left the queue was not told so');
  }
}

function stepsIn(queue: Queue, step: Step, size: number): Call {
  const crowd = new Crowd(QUEUES[queue](), size, step !== 'grant');
  switch (step) {
    case 'leave-newest':
      return crowd.leaveNewest;
    case 'leave-any':
      return crowd.leaveAny;
    case 'grant':
      return crowd.grant;
  }
}

/** A step in a queue of so many over one in a queue of one. */
export function stepAmongWaiters(queue: Queue, step: Step, size: number): Sides {
  return { ours: stepsIn(queue, step, size), other: stepsIn(queue, step, 1), bare: answerAtOnce };
}
