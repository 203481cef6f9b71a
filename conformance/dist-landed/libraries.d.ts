import type { Adapter } from './adapter.js';
/** A library, loaded only when it is asked for: some run on newer versions of Node only. */
export interface Library {
    readonly name: string;
    /** The major version of Node that its package asks for; some break the process on an older one. */
    readonly leastNode?: number;
    readonly load: () => Promise<Adapter>;
}
/** Why a library cannot run on this Node, if so. */
export declare function absence({ name, leastNode }: Library): string | undefined;
/** Ours first. */
export declare const LIBRARIES: readonly Library[];
//# sourceMappingURL=libraries.d.ts.map