const left = new Set<() => void>();

process.on('exit', () => {
  for (const end of left) end();
});

/** Ends what would outlive this process. Returns what takes it off the list. */
export function atExit(end: () => void): () => void {
  left.add(end);

  return () => void left.delete(end);
}
