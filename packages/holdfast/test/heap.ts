/** What calls leave on the heap, on the real clock and with the real collector: needs --expose-gc. */

export const MEGABYTE = 1_048_576;

async function heapUsed(): Promise<number> {
  await collectGarbage();

  return process.memoryUsage().heapUsed;
}

/** Once is not enough for what finalizers and weak references let go of. */
export async function collectGarbage(): Promise<void> {
  for (let time = 0; time < 3; time++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** By how much the heap has grown over some rounds, in bytes, after one that warms everything up. */
export async function growth(round: () => Promise<void>, rounds: number): Promise<number> {
  await round();
  const before = await heapUsed();
  for (let done = 0; done < rounds; done++) await round();

  return (await heapUsed()) - before;
}

/** A hundred bytes, and a little more. */
export const hundredBytes = (): unknown => new Array<number>(12).fill(0);
