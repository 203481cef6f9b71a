/**
 * What `read` makes of the command line of this program. Where that is wrong, a sentence says what is, without the
 * trace of a program that has a fault, and the program ends with 1.
 */
export function readOrExit<T>(read: (args: readonly string[]) => T): T {
  try {
    return read(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
