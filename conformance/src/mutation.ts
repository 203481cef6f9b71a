import type { Adapter, Policy, Work } from './adapter.js';

/**
 * How scenarios make mutants of our own library: the same library with one fault, of the kind that real code has.
 */

type Made = 'retry' | 'timeout' | 'budget' | 'fallback';
type Spec<F extends Made> = Parameters<Required<Adapter>[F]>[0];

/** Our own library with other policies of one kind: `change` gets the right one, and what it was made of. */
export function replacing<F extends Made>(
  feature: F,
  change: (right: Policy, spec: Spec<F>) => Policy,
): (ours: Required<Adapter>) => Adapter {
  return (ours) => {
    const make = ours[feature] as (spec: Spec<F>) => Policy;

    return { ...ours, [feature]: (spec: Spec<F>) => change(make(spec), spec) };
  };
}

/** Our own library that reads what one kind of policy is made of in another way. */
export function reading<F extends Made>(
  feature: F,
  read: (spec: Spec<F>) => Spec<F>,
): (ours: Required<Adapter>) => Adapter {
  return (ours) => {
    const make = ours[feature] as (spec: Spec<F>) => Policy;

    return { ...ours, [feature]: (spec: Spec<F>) => make(read(spec)) };
  };
}

/** What a wrap is asked to put around each other. */
export interface Wrapped {
  readonly ours: Required<Adapter>;
  /** At least one. */
  readonly policies: readonly Policy[];
  /** What each of them is, the first one first. */
  readonly kinds: readonly (keyof Adapter | undefined)[];
}

const KINDS = ['retry', 'timeout', 'breaker', 'bulkhead', 'rateLimit', 'budget', 'fallback', 'wrap'] as const;

/** Our own library, which puts policies around each other in another way; the right one where `rewrap` has none. */
export function rewrapping(
  rewrap: (wrapped: Wrapped) => Policy | undefined,
): (ours: Required<Adapter>) => Required<Adapter> {
  return (ours) => {
    const kinds = new WeakMap<Policy, keyof Adapter>();
    const noting = (kind: (typeof KINDS)[number], make: (...given: never[]) => Policy) => {
      return (...given: never[]): Policy => {
        const policy = make(...given);
        kinds.set(policy, kind);
        return policy;
      };
    };
    const wrap = (...policies: readonly Policy[]): Policy =>
      rewrap({ ours, policies, kinds: policies.map((policy) => kinds.get(policy)) }) ?? ours.wrap(...policies);

    const makers = KINDS.map((kind) => [kind, noting(kind, kind === 'wrap' ? wrap : ours[kind])] as const);
    return { ...ours, ...(Object.fromEntries(makers) as unknown as Required<Adapter>) };
  };
}

/** The policy, with its work changed. */
export function around(right: Policy, change: <T>(work: Work<T>) => Work<T>): Policy {
  return { run: (work, signal) => right.run(change(work), signal) };
}
