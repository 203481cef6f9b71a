/** An error in a few words. Where several addresses were tried, Node's error has a code and no message. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);

  const { code } = error as NodeJS.ErrnoException;
  return `${error.name}: ${error.message === '' ? (code ?? 'no message') : error.message}`;
}
