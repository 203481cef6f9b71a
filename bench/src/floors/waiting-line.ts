interface Waiting {
  readonly start: () => void;
  previous: Waiting | undefined;
  next: Waiting | undefined;
}

/**
 * A queue before one slot as one would write it by hand, first come, first served: a caller whose signal aborts leaves at
 * once, from wherever it stands. A list with links both ways, since an array moves all that stand behind.
 */
export class WaitingLine {
  #busy = false;
  #first: Waiting | undefined;
  #last: Waiting | undefined;

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#busy) await this.#turn(signal);
    this.#busy = true;
    try {
      return await work();
    } finally {
      this.#busy = false;
      this.#next();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#remove(waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        start: () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
        previous: this.#last,
        next: undefined,
      };
      if (this.#last === undefined) this.#first = waiting;
      else this.#last.next = waiting;
      this.#last = waiting;
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #next(): void {
    const next = this.#first;
    if (next === undefined) return;

    this.#remove(next);
    // Nobody who comes meanwhile overtakes.
    this.#busy = true;
    next.start();
  }

  #remove(waiting: Waiting): void {
    if (waiting.previous === undefined) this.#first = waiting.next;
    else waiting.previous.next = waiting.next;
    if (waiting.next === undefined) this.#last = waiting.previous;
    else waiting.next.previous = waiting.previous;
    waiting.previous = waiting.next = undefined;
  }
}
