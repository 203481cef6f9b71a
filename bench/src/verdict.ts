import type { Row } from './row.js';

/** How far a value may lie above its target before the command fails: what a shared machine adds on a bad day. */
const TOLERANCE = 0.1;

export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'info' }
  | { readonly kind: 'miss'; readonly excess: number; readonly fails: boolean };

/** The row's limit on that version of Node. */
export function targetOf(row: Row, node: string): number | undefined {
  if (row.target === undefined) return undefined;

  return Number.parseInt(node, 10) < 24 ? row.target.node20 : row.target.node24;
}

export function judge(value: number, target: number | undefined): Verdict {
  if (target === undefined) return { kind: 'info' };
  if (value <= target) return { kind: 'pass' };

  const excess = value / target - 1;

  return { kind: 'miss', excess, fails: !(value <= target * (1 + TOLERANCE)) };
}
