import { BulkheadFullError } from 'holdfast';
import { PLENTY, type Adapter, type BulkheadPolicy, type BulkheadSpec, type Work } from '../adapter.js';
import { started, untilAbort } from './running.js';

export interface Waiter {
  readonly grant: () => void;
}

/** A bulkhead as a textbook has it. Mutants of it are wrong in one method. */
export class TextbookBulkhead implements BulkheadPolicy {
  protected taken = 0;
  protected readonly line = new Set<Waiter>();

  constructor(protected readonly spec: BulkheadSpec) {}

  running(): number {
    return this.taken;
  }

  waiting(): number {
    return this.line.size;
  }

  async run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    this.lookAt(signal);
    if (this.isFree()) this.taken += 1;
    else if (this.isFull()) throw new BulkheadFullError('textbook', 'full');
    else await this.turn(signal);

    return this.runWithSlot(work, signal);
  }

  /** An abort that has already happened is told by no event. */
  protected lookAt(signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
  }

  protected isFree(): boolean {
    return this.taken < this.spec.limit;
  }

  protected isFull(): boolean {
    return this.line.size >= (this.spec.queue ?? PLENTY);
  }

  /** Resolves once this call has a slot. */
  protected turn(signal: AbortSignal | undefined): Promise<void> {
    let waiter: Waiter;
    const granted = new Promise<void>((grant) => {
      waiter = { grant };
      this.line.add(waiter);
    });

    return untilAbort(granted, signal, () => this.giveUp(waiter));
  }

  /** A waiter that is aborted leaves the line; one that had been granted by then gives its slot back. */
  protected giveUp(waiter: Waiter): void {
    if (!this.line.delete(waiter)) this.release();
  }

  /** The slot is taken until the work has ended, whoever waits for it by then. */
  protected runWithSlot<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
    if (signal?.aborted === true) {
      this.release();
      throw signal.reason;
    }

    const body = started(work, signal);
    const release = (): void => this.release();
    const released = body.finally(release);
    return untilAbort(released, signal);
  }

  /** Gives a slot to the next in line, or back. */
  protected release(): void {
    const next = this.next();
    if (next === undefined) {
      this.taken -= 1;
    } else {
      this.line.delete(next);
      next.grant();
    }
  }

  protected next(): Waiter | undefined {
    return this.line.values().next().value;
  }
}

/** Our own library with another bulkhead. */
export function withBulkhead(Bulkhead: typeof TextbookBulkhead): (ours: Required<Adapter>) => Required<Adapter> {
  return (ours) => ({ ...ours, bulkhead: (spec) => new Bulkhead(spec) });
}
