const COUNTED = [
  ...['indexOf', 'lastIndexOf', 'includes', 'find', 'findIndex', 'filter', 'map', 'forEach', 'reduce'],
  ...['some', 'every', 'slice', 'sort', 'toSorted'],
] as const;

/**
 * Counts elements of arrays that are looked at or moved while `run` does its part, at most: what takes time with the
 * length of a list, without looking at a clock.
 */
export async function elementSteps(run: () => Promise<void>): Promise<number> {
  let steps = 0;
  const { splice } = Array.prototype;
  const originals = COUNTED.map(
    (name) => [name, Reflect.get(Array.prototype, name) as (this: unknown[]) => unknown] as const,
  );
  const set = (name: string, value: unknown): void =>
    void Object.defineProperty(Array.prototype, name, { value, writable: true, configurable: true, enumerable: false });
  for (const [name, original] of originals) {
    set(name, function counting(this: unknown[], ...given: unknown[]): unknown {
      steps += this.length;
      return Reflect.apply(original, this, given);
    });
  }
  set('splice', function counting(this: unknown[], ...given: [number]): unknown {
    steps += Math.max(0, this.length - given[0]);
    return Reflect.apply(splice, this, given);
  });
  try {
    await run();
  } finally {
    for (const [name, original] of originals) set(name, original);
    set('splice', splice);
  }

  return steps;
}
