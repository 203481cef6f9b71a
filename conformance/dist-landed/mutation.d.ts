import type { Adapter, Policy, Work } from './adapter.js';
/**
 * How scenarios make mutants of our own library: the same library with one fault, of the kind that real code has.
 */
type Made = 'retry' | 'timeout' | 'budget' | 'fallback';
type Spec<F extends Made> = Parameters<Required<Adapter>[F]>[0];
/** Our own library with other policies of one kind: `change` gets the right one, and what it was made of. */
export declare function replacing<F extends Made>(feature: F, change: (right: Policy, spec: Spec<F>) => Policy): (ours: Required<Adapter>) => Adapter;
/** Our own library that reads what one kind of policy is made of in another way. */
export declare function reading<F extends Made>(feature: F, read: (spec: Spec<F>) => Spec<F>): (ours: Required<Adapter>) => Adapter;
/** What a wrap is asked to put around each other. */
export interface Wrapped {
    readonly ours: Required<Adapter>;
    /** At least one. */
    readonly policies: readonly Policy[];
    /** What each of them is, the first one first. */
    readonly kinds: readonly (keyof Adapter | undefined)[];
}
/** Our own library, which puts policies around each other in another way; the right one where `rewrap` has none. */
export declare function rewrapping(rewrap: (wrapped: Wrapped) => Policy | undefined): (ours: Required<Adapter>) => Required<Adapter>;
/** The policy, with its work changed. */
export declare function around(right: Policy, change: <T>(work: Work<T>) => Work<T>): Policy;
export {};
//# sourceMappingURL=mutation.d.ts.map