import { subscribe, type ResilienceListener } from 'holdfast';

/** Tells the log what clients are not told: which error a part is missing for. @returns What ends it. */
export function logMissingParts(write: (line: string) => void): () => void {
  const log: ResilienceListener = (event) => {
    if (event.type !== 'degraded') return;

    const { section, reason, waitedMs, error } = event;
    write(`${section}: ${reason} after ${waitedMs} ms (${explain(error)})`);
  };

  return subscribe(log);
}

/** What `fetch()` throws says what happened in the last of its causes. */
function explain(error: unknown): string {
  const cause = lastCause(error);

  return cause === error ? String(error) : `${String(error)}: ${String(cause)}`;
}

function lastCause(error: unknown): unknown {
  let last = error;
  while (last instanceof Error && last.cause !== undefined) last = last.cause;

  return last;
}
