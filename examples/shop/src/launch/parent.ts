export interface ListeningMessage {
  readonly port: number;
}

/** Tells the process that started this one, if one did, that requests can come; ends with it, so that no orphan keeps the port. */
export function reportListening(port: number): void {
  if (!process.send) {
    return;
  }
  process.send({ port } satisfies ListeningMessage);
  endWithParent();
}

export function endWithParent(end: () => void = process.exit): void {
  if (process.send) {
    process.once('disconnect', () => end());
  }
}
