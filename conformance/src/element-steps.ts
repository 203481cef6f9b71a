const COUNTED = [
  ...['indexOf', 'lastIndexOf', 'includes', 'find', 'findIndex', 'filter', 'map', 'forEach', 'reduce'],
  ...['some', 'every', 'slice', 'sort', 'toSorted'],
] as const;
const ITERATED = ['values', 'keys', 'entries', Symbol.iterator] as const;

type Method = (this: unknown, ...given: unknown[]) => unknown;
type Collection = { readonly length: number; readonly size?: number };

/**
 * Counts elements of arrays, sets and maps that are looked at or moved while `run` does its part, at most: what takes
 * time with the length of a list, without looking at a clock. Loops over an array itself are not seen.
 */
export async function elementSteps(run: () => Promise<void>): Promise<number> {
  let steps = 0;
  const undo: (() => void)[] = [];
  const replace = (prototype: object, name: string | symbol, change: (original: Method) => Method): void => {
    const before = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    Object.defineProperty(prototype, name, { ...before, value: change(before.value as Method) });
    undo.push(() => void Object.defineProperty(prototype, name, before));
  };
  const adding = (cost: (list: Collection, given: unknown[]) => number) => (original: Method) =>
    function counting(this: unknown, ...given: unknown[]): unknown {
      steps += cost(this as Collection, given);
      return Reflect.apply(original, this, given);
    };
  const stepping = (original: Method) =>
    function iterating(this: unknown): unknown {
      const iterator = Reflect.apply(original, this, []) as Iterator<unknown>;
      const next = iterator.next.bind(iterator);
      return Object.assign(iterator, { next: () => ((steps += 1), next()) });
    };

  const whole = adding(({ length, size = length }) => size);
  const rest = adding(({ length }, [start]) => Math.max(0, length - (start as number)));
  for (const name of COUNTED) replace(Array.prototype, name, whole);
  replace(Array.prototype, 'splice', rest);
  for (const { prototype } of [Set, Map]) {
    replace(prototype, 'forEach', whole);
    for (const name of ITERATED) replace(prototype, name, stepping);
  }
  try {
    await run();
  } finally {
    for (const restore of undo) restore();
  }

  return steps;
}
