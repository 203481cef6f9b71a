import { brand } from '../brand.js';
import { refusePromise, requireFunction } from '../options.js';
import type { DegradedReason, DegradedSection } from './degraded.js';

const HIDDEN = { data: { enumerable: false }, timings: { enumerable: false } };

/** How long a section took. */
export interface SectionTiming {
  readonly section: string;
  /** In whole milliseconds. */
  readonly ms: number;
  /** Why it is missing; absent for a section that is there. */
  readonly reason?: DegradedReason;
}

/** What the answer of a fan-out is as JSON, unless it was reshaped. */
export interface PartialBody<D> {
  readonly data: D;
  readonly degraded: readonly DegradedSection[];
  readonly partial: boolean;
}

export interface PartialParts<D> {
  readonly data: D;
  readonly degraded: readonly DegradedSection[];
  readonly timings: readonly SectionTiming[];
}

/**
 * An answer with what there is, marked with what is missing. `JSON.stringify()` gives its body.
 *
 * @typeParam D The sections' values by their keys.
 * @typeParam B The body: `{ data, degraded, partial }`, or what {@link map} made of it.
 */
export class PartialResponse<D, B = PartialBody<D>> implements PartialBody<D> {
  readonly data: D;
  /** The sections that are missing, in the order in which they were declared. */
  readonly degraded: readonly DegradedSection[];
  /** All sections, in the order in which they were declared. */
  readonly timings: readonly SectionTiming[];
  readonly #body: B;

  /** Whether something is missing. */
  get partial(): boolean {
    return this.degraded.length > 0;
  }

  private constructor(parts: PartialParts<D>, body: B) {
    this.data = parts.data;
    this.degraded = parts.degraded;
    this.timings = parts.timings;
    this.#body = body;
  }

  /** @internal */
  static of<D>(parts: PartialParts<D>): PartialResponse<D> {
    const { data, degraded } = parts;

    return new PartialResponse(parts, { data, degraded, partial: degraded.length > 0 });
  }

  /**
   * The same answer with another body; data and marks stay. Its `data` and `timings` are not enumerable: whatever goes by
   * the fields of objects does not find there what the body leaves out.
   *
   * @throws TypeError when `reshape` is no function or returns a promise, which has no JSON.
   */
  map<C>(reshape: (page: PartialResponse<D, B>) => C): PartialResponse<D, C> {
    const body = requireFunction(reshape, 'reshape')(this);
    refusePromise(body, 'reshape', 'the body');

    return Object.defineProperties(new PartialResponse<D, C>(this, body), HIDDEN);
  }

  /** The body. */
  toJSON(): B {
    return this.#body;
  }
}

brand(PartialResponse, Symbol.for('holdfast.partial-response'));
