export interface ListeningMessage {
  readonly port: number;
  /** Where messages over TCP come in, if they do. */
  readonly messagePort?: number;
  /** Where idempotency keys are kept, if they are. */
  readonly keys?: string;
}

/** Asks `npm start` to end its shop with a signal, and to start it anew. */
export interface RestartMessage {
  readonly restart: 'SIGTERM' | 'SIGKILL';
}

/** Tells the process that started this one, if one did, that requests can come; ends with it, so that no orphan keeps the port. */
export function reportListening(message: ListeningMessage): void {
  if (!process.send) {
    return;
  }
  process.send(message);
  endWithParent();
}

export function endWithParent(end: () => void = process.exit): void {
  if (process.send) {
    process.once('disconnect', () => end());
  }
}

const PARENT_CHECK_MS = 500;

/**
 * Ends with the shell that a package manager runs scripts in. A SIGTERM to npm ends that shell and nothing below it;
 * only our parent's id tells that it is gone.
 */
export function endWithShell(end: () => void): void {
  const shell = process.ppid;
  const check = setInterval(() => {
    if (process.ppid !== shell) {
      clearInterval(check);
      end();
    }
  }, PARENT_CHECK_MS);
  check.unref();
}
