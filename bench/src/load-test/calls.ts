import { BadGatewayException } from '@nestjs/common';
import { fetchJson, FetchFailedError, requireValue } from 'holdfast/fetch';
import type { Journal } from './journal.js';
import type { CallName } from './settings.js';

/** Longer than any policy around lets a call run: what ends it is theirs. */
const LIMIT = '30s';

/** The calls of the dependency, each of which is written down. */
export class Calls {
  #made = 0;

  constructor(
    private readonly url: string,
    private readonly journal: Journal,
  ) {}

  async make(name: CallName, signal: AbortSignal | undefined): Promise<unknown> {
    const id = this.begin(name);
    const outcome = await fetchJson(`${this.url}/${name}`, { ...signed(id), signal: signal ?? null }, LIMIT);
    if (outcome.ok) this.journal.end(id, 'ok');
    else if (outcome.reason === 'upstream_error') this.journal.end(id, 'failed');
    else this.journal.end(id, outcome.reason === 'upstream_timeout' ? 'timed out' : 'cancelled');

    return valueOf(() => requireValue(outcome));
  }

  /** As somebody makes it who has never heard of signals. */
  async makeStubbornly(name: CallName): Promise<unknown> {
    const id = this.begin(name);
    try {
      const response = await fetch(`${this.url}/${name}`, signed(id));
      const value: unknown = await response.json();
      this.journal.end(id, response.ok ? 'ok' : 'failed');
      if (response.ok) return value;
    } catch {
      this.journal.end(id, 'failed');
    }
    throw new BadGatewayException();
  }

  private begin(name: CallName): number {
    const id = ++this.#made;
    this.journal.start(id, name);

    return id;
  }
}

function signed(id: number): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { 'x-call': String(id) } };
}

/** What a dependency does wrong is a 502 to whoever asked. */
function valueOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    const isTheirs = error instanceof FetchFailedError && error.reason === 'upstream_error';
    throw isTheirs ? new BadGatewayException(undefined, { cause: error }) : error;
  }
}
