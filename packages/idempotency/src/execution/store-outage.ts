import { now, show } from 'holdfast/binding';
import { log } from '../log.js';
import { IdempotencyStoreTimeoutError, type StoreMethod } from './bounded-store.js';

/** For so long one line says that a method fails, however many calls it fails for. */
const REPEAT_MS = 60_000;

interface Logged {
  readonly at: number;
  /** Calls that it has failed for since then. */
  untold: number;
}

/**
 * What is logged of a store that fails. While it is away every call meets that, so that a line for each would bury all
 * others: each method has one line, and after a minute another one with the number of calls since. When keys can be taken
 * again, one line says so. Events tell of each failure.
 */
export class StoreOutage {
  private readonly lines = new Map<StoreMethod, Logged>();
  /** Calls in a row that could not take their keys. */
  private refused = 0;
  private since = 0;
  private announced = false;

  /**
   * A call has met its failure: once for each method.
   *
   * @param place Whose call it is, as a line begins with it.
   */
  failed(place: string, method: StoreMethod, error: unknown): void {
    if (method === 'acquire') this.count();
    const at = now();
    const last = this.lines.get(method);
    if (last !== undefined && at - last.at < REPEAT_MS) {
      last.untold += 1;
      return;
    }

    this.lines.set(method, { at, untold: 0 });
    if (method === 'acquire') this.announced = true;
    const { untold = 0 } = last ?? {};
    const others = untold === 0 ? '' : `, and for ${untold} calls since this was last logged`;
    log('error', `${place}: the store failed in ${method}()${others}`, detailOf(error));
  }

  /** A key could be taken, or was found. Of a store for which that comes and goes it is not told each time. */
  answered(): void {
    if (this.refused === 0) return;

    const { refused, announced } = this;
    this.refused = 0;
    if (refused === 1 || !announced) return;

    this.announced = false;
    log('warn', `The store answers again. It had failed for ${refused} calls in ${Math.round(now() - this.since)}ms.`);
  }

  private count(): void {
    if (this.refused === 0) this.since = now();
    this.refused += 1;
  }
}

/** That it did not answer says all there is to say, and whoever waited for it is nobody's fault. */
function detailOf(error: unknown): string {
  return error instanceof IdempotencyStoreTimeoutError ? error.message : textOf(error);
}

/** What was thrown may be anything, also what cannot be made a text. */
export function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.stack) : String(thrown);
  } catch {
    return show(thrown);
  }
}
