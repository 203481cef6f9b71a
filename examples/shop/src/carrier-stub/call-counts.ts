import type { ServerResponse } from 'node:http';

export interface PathCounts {
  requests: number;
  /** The client closed the connection before it had its answer. */
  cancelled: number;
}

export interface CarrierStats extends Readonly<PathCounts> {
  /** Still open: neither answered nor cancelled. */
  readonly pending: number;
  readonly byPath: Readonly<Record<string, Readonly<PathCounts>>>;
}

/** Counts the calls to the stub, by path. */
export class CallCounts {
  private byPath = new Map<string, PathCounts>();
  private readonly open = new Set<ServerResponse>();

  /** Follows one call until it is answered or given up. */
  follow(path: string, response: ServerResponse): void {
    const counts = this.countsOf(path);
    counts.requests++;
    this.open.add(response);

    response.once('close', () => {
      this.open.delete(response);
      if (!response.writableFinished) {
        counts.cancelled++;
      }
    });
  }

  stats(): CarrierStats {
    const all = [...this.byPath.values()];
    return {
      requests: all.reduce((sum, { requests }) => sum + requests, 0),
      cancelled: all.reduce((sum, { cancelled }) => sum + cancelled, 0),
      pending: this.open.size,
      byPath: Object.fromEntries(this.byPath),
    };
  }

  /** A call that is open now still belongs to the time before, and is counted nowhere when it ends. */
  reset(): void {
    this.byPath = new Map();
  }

  private countsOf(path: string): PathCounts {
    const counts = this.byPath.get(path) ?? { requests: 0, cancelled: 0 };
    this.byPath.set(path, counts);
    return counts;
  }
}
