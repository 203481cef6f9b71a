/** Shorter names are often alike on purpose. */
const FEWEST_LETTERS = 6;
const MOST_EDITS = 2;
/** In UTF-16 units, of which a letter has one or two. Spares most pairs of thousands of names the closer look. */
const MOST_LENGTH_APART = 2 * MOST_EDITS;

/**
 * Whether a name is so much like another one that it must be a slip of the pen: within two edits, none of them of a
 * digit, since `replica-1` and `replica-2` are meant to be two.
 */
export function isMisspelt(name: string, meant: string): boolean {
  if (Math.abs(name.length - meant.length) > MOST_LENGTH_APART) return false;
  if ((name.match(/\p{L}/gu)?.length ?? 0) < FEWEST_LETTERS) return false;

  return editsBetween([...name], [...meant]) <= MOST_EDITS;
}

/** Levenshtein's distance in which a digit is never inserted, left out or replaced. */
function editsBetween(from: readonly string[], to: readonly string[]): number {
  let above = [0];
  for (const right of to) above.push((above.at(-1) as number) + costOf(right));
  for (const left of from) {
    const row = [(above[0] as number) + costOf(left)];
    for (const [column, right] of to.entries()) {
      const replaced = left === right ? 0 : Math.max(costOf(left), costOf(right));
      row.push(
        Math.min(
          (above[column + 1] as number) + costOf(left),
          (row[column] as number) + costOf(right),
          (above[column] as number) + replaced,
        ),
      );
    }
    above = row;
  }

  return above[to.length] as number;
}

function costOf(character: string): number {
  return /\p{Nd}/u.test(character) ? Infinity : 1;
}
