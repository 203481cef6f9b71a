import { holdfast } from '../libraries/holdfast.js';
import { callUnder, type LibraryName } from '../libraries/libraries.js';
import { PENDING_MS, type Feature } from '../libraries/library.js';
import { answerAtOnce, type Sides } from '../sides.js';

/** A call that succeeds at once, under a policy of ours and under the same one of another library. */
export async function policyOver(library: LibraryName, feature: Feature): Promise<Sides> {
  return {
    ours: holdfast[feature](),
    other: await callUnder(library, feature),
    bare: answerAtOnce,
    pendingMs: PENDING_MS[feature] ?? [],
  };
}

/** A call under a policy of ours over one under none. */
export async function policyOverNone(feature: Feature): Promise<Sides> {
  return { ours: holdfast[feature](), other: answerAtOnce, bare: answerAtOnce, pendingMs: PENDING_MS[feature] ?? [] };
}
