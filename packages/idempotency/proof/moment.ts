/**
 * Milliseconds on a clock that all processes of this machine share, and that neither steps nor stands still
 * (`CLOCK_MONOTONIC`): what the processes write down can be put into one order, whatever their `Date` says.
 */
export function moment(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** From when to when. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export function overlaps(span: Span, from: number, to: number): boolean {
  return span.from <= to && span.to >= from;
}
