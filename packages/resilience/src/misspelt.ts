/** Shorter names are often alike on purpose. */
const FEWEST_LETTERS = 6;
const MOST_EDITS = 2;

/**
 * Whether a name is so much like another one that it must be a slip of the pen: within two edits, none of them of a
 * digit, since `replica-1` and `replica-2` are meant to be two.
 */
export function isMisspelt(name: string, meant: string): boolean {
  if ((name.match(/\p{L}/gu)?.length ?? 0) < FEWEST_LETTERS) return false;

  return editsBetween(name, meant) <= MOST_EDITS;
}

/** Levenshtein's distance in which a digit is never inserted, left out or replaced. */
function editsBetween(from: string, to: string): number {
  let above = [0];
  for (let column = 1; column <= to.length; column++)
    above.push((above[column - 1] as number) + costOf(to[column - 1]));
  for (let line = 1; line <= from.length; line++) {
    const left = from[line - 1];
    const row = [(above[0] as number) + costOf(left)];
    for (let column = 1; column <= to.length; column++) {
      const right = to[column - 1];
      const replaced = left === right ? 0 : Math.max(costOf(left), costOf(right));
      row.push(
        Math.min(
          (above[column] as number) + costOf(left),
          (row[column - 1] as number) + costOf(right),
          (above[column - 1] as number) + replaced,
        ),
      );
    }
    above = row;
  }

  return above[to.length] as number;
}

function costOf(character: string | undefined): number {
  return character !== undefined && /\p{Nd}/u.test(character) ? Infinity : 1;
}
