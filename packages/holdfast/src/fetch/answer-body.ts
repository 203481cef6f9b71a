/** How much of the body of a refused answer is read, in bytes, so that its connection can be used again. */
export const MOST_DRAINED = 65_536;

const ignore = (): void => {};

/**
 * Reads the body of an answer that nobody wants: an unread one keeps its connection for as long as the other side
 * likes. One that is large, or that has no end, is given up, and its connection with it.
 */
export class Drain {
  private reader: ReadableStreamDefaultReader<unknown> | undefined = undefined;

  /** Settles when the body is read or given up. Never rejects. */
  async read(body: ReadableStream | null | undefined): Promise<void> {
    try {
      this.reader = body?.getReader();
      await this.readAll();
    } catch {
      // An answer whose body breaks off, or is no stream to read, was refused all the same.
      cancel(body);
    }
  }

  stop(): void {
    this.reader?.cancel().catch(ignore);
  }

  private async readAll(): Promise<void> {
    let bytes = 0;
    while (this.reader !== undefined) {
      const { done, value } = await this.reader.read();
      if (done) return;

      // What cannot be counted counts as too much.
      bytes += (value as Partial<Uint8Array> | undefined)?.byteLength || Infinity;
      if (bytes > MOST_DRAINED) return this.stop();
    }
  }
}

/** Lets go of an answer that came too late. */
export function discard(response: Response | undefined): void {
  cancel(response?.body);
}

function cancel(body: ReadableStream | null | undefined): void {
  try {
    body?.cancel().catch(ignore);
  } catch {
    // Whatever a stand-in for fetch has instead of a body, nobody waits for it.
  }
}
