import type { Adapter } from './adapter.js';

/** A library, loaded only when it is asked for: some run on newer versions of Node only. */
export interface Library {
  readonly name: string;
  /** The major version of Node that its package asks for; some break the process on an older one. */
  readonly leastNode?: number;
  readonly load: () => Promise<Adapter>;
}

const [NODE = 0] = process.versions.node.split('.').map(Number);

/** Why a library cannot run on this Node, if so. */
export function absence({ name, leastNode = 0 }: Library): string | undefined {
  if (NODE >= leastNode) return undefined;

  return `Left out, since this is Node ${process.versions.node}: ${name} (Node ${leastNode} or newer).`;
}

/** Ours first. */
export const LIBRARIES: readonly Library[] = [
  { name: 'holdfast', load: async () => (await import('./adapters/holdfast.js')).holdfast },
  { name: 'cockatiel', leastNode: 22, load: async () => (await import('./adapters/cockatiel.js')).cockatiel },
  { name: 'opossum', leastNode: 22, load: async () => (await import('./adapters/opossum.js')).opossum },
  {
    name: 'nestjs-resilience',
    load: async () => (await import('./adapters/nestjs-resilience.js')).nestjsResilience,
  },
  {
    name: 'p-retry, p-timeout, p-queue',
    leastNode: 22,
    load: async () => (await import('./adapters/sindresorhus.js')).sindresorhus,
  },
  {
    name: 'undici (retry interceptor)',
    leastNode: 22,
    load: async () => (await import('./adapters/undici.js')).undici,
  },
  { name: 'effect', load: async () => (await import('./adapters/effect.js')).effect },
];
