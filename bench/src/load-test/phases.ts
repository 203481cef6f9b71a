import { seeded } from '../seeded.js';

/** What becomes of the dependency. */
export const CONDITIONS = ['up', 'slow', 'hanging', 'failing', 'half-broken'] as const;

export type Condition = (typeof CONDITIONS)[number];

export interface Phase {
  readonly condition: Condition;
  readonly ms: number;
}

const USUAL_MS = 4_000;

/**
 * What the dependency goes through: it is up at first and at last, and in between it is everything in an order that the
 * seed draws, round after round. Phases last for about four seconds each.
 */
export function schedule(seed: number, seconds: number): readonly Phase[] {
  const random = seeded(seed);
  const rounds = Math.max(1, Math.round((seconds * 1_000) / USUAL_MS / CONDITIONS.length));
  const drawn = Array.from({ length: rounds }, () => shuffled(CONDITIONS, random)).flat();
  const conditions = [...(drawn[0] === 'up' ? [] : ['up' as const]), ...drawn, 'up' as const];

  return conditions.map((condition) => ({ condition, ms: (seconds * 1_000) / conditions.length }));
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
