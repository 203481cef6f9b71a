import type { Adapter } from './adapter.js';

/** A library, loaded only when it is asked for: some run on newer versions of Node only. */
export interface Library {
  readonly name: string;
  readonly load: () => Promise<Adapter>;
}

/** Ours first. */
export const LIBRARIES: readonly Library[] = [
  { name: 'holdfast', load: async () => (await import('./adapters/holdfast.js')).holdfast },
  { name: 'cockatiel', load: async () => (await import('./adapters/cockatiel.js')).cockatiel },
  { name: 'opossum', load: async () => (await import('./adapters/opossum.js')).opossum },
  {
    name: 'nestjs-resilience',
    load: async () => (await import('./adapters/nestjs-resilience.js')).nestjsResilience,
  },
  { name: 'p-retry, p-timeout, p-queue', load: async () => (await import('./adapters/sindresorhus.js')).sindresorhus },
  { name: 'undici (retry interceptor)', load: async () => (await import('./adapters/undici.js')).undici },
  { name: 'effect', load: async () => (await import('./adapters/effect.js')).effect },
];
