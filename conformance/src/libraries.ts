import type { Adapter } from './adapter.js';

/** A library, loaded only when it is asked for: some run on newer versions of Node only. */
export interface Library {
  readonly name: string;
  readonly load: () => Promise<Adapter>;
}

/** Ours first. */
export const LIBRARIES: readonly Library[] = [
  { name: 'holdfast', load: async () => (await import('./adapters/holdfast.js')).holdfast },
];
