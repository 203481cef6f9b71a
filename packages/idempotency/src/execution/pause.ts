/** Keeps no process alive. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

export interface PatienceOptions {
  /** Whether the process has to stay until then. Default `false`. */
  readonly holdsProcess?: boolean;
}

/** Resolves when `work` has settled, and after so many milliseconds at the latest. Never rejects. */
export async function atMost(ms: number, work: Promise<unknown>, options: PatienceOptions = {}): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  if (options.holdsProcess !== true) timer?.unref();
  const settled = (): void => {};
  await Promise.race([work.then(settled, settled), over]);
  clearTimeout(timer);
}
