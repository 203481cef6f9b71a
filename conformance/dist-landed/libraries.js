const [NODE = 0] = process.versions.node.split('.').map(Number);
/** Why a library cannot run on this Node, if so. */
export function absence({ name, leastNode = 0 }) {
    if (NODE >= leastNode)
        return undefined;
    return `${name} needs Node ${leastNode}, and this is ${process.versions.node}.`;
}
/** Ours first. */
export const LIBRARIES = [
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
//# sourceMappingURL=libraries.js.map