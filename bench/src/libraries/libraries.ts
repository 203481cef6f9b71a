import type { Call } from '../sides.js';
import type { Feature, Library } from './library.js';

/** Loaded one at a time: some turn on Node's promise hooks, and some start timers. */
const LIBRARIES = {
  cockatiel: async () => (await import('./cockatiel.js')).cockatiel,
  opossum: async () => (await import('./opossum.js')).opossum,
  'p-retry': sindresorhus,
  'p-timeout': sindresorhus,
  'p-queue': sindresorhus,
  'nestjs-resilience': async () => (await import('./nestjs-resilience.js')).nestjsResilience,
  effect: async () => (await import('./effect.js')).effect,
} satisfies Readonly<Record<string, () => Promise<Library>>>;

async function sindresorhus(): Promise<Library> {
  return (await import('./sindresorhus.js')).sindresorhus;
}

/** By the name of the package. */
export type LibraryName = keyof typeof LIBRARIES;

/** @throws Error when the library has no such policy. */
export async function callUnder(library: LibraryName, feature: Feature): Promise<Call> {
  const make = (await LIBRARIES[library]())[feature];
  if (make === undefined) throw new Error(`${library} has no ${feature}`);

  return make();
}
