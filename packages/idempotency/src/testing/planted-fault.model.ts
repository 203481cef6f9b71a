import type { IdempotencyStore } from '../store.js';
import type { CONTENT_CASES } from './content-cases.js';
import type { OWNERSHIP_CASES } from './ownership-cases.js';
import type { RACE_CASES } from './race-cases.js';
import type { TIME_CASES } from './time-cases.js';

type Rule =
  keyof typeof OWNERSHIP_CASES | keyof typeof TIME_CASES | keyof typeof CONTENT_CASES | keyof typeof RACE_CASES;

/** A fault that stores have, and the rules of the contract that it breaks. */
export interface PlantedFault {
  readonly fault: string;
  readonly create: () => IdempotencyStore;
  readonly breaks: readonly Rule[];
}

/** The rules that faults break, by short names. */
export const RULE = {
  takes: 'takes a free key, and tells everybody else whose it is',
  completes: 'completes a lock for its owner only',
  final: 'never changes a record',
  releases: 'releases a lock for its owner only',
  nothing: 'changes nothing under a key on which there is nothing',
  extends: 'extends a lock for its owner only',
  ownTime: 'gives a record its own time, which nothing extends',
  frees: 'frees a lock when its time is over, and keeps its late owner off the next one',
  late: 'lets the owner of a lock that is over change nothing, though nobody has taken it',
  forgets: 'forgets a record when its time is over',
  times: 'keeps to times from a millisecond to 30 days',
  apart: 'keeps keys apart that are nearly the same',
  copy: 'gives back an equal copy of the answer',
  freeKey: 'gives a free key to one of many callers',
  overLock: 'gives a lock that is over to one of many callers, and nothing to its late owner',
  overRecord: 'gives a record that is over to one of many callers',
  manyKeys: 'gives each of many keys to one of many callers',
  release: 'releases a lock amid callers of whom at most one gets it',
  complete: 'completes a lock amid callers of whom nobody gets it',
} as const satisfies Readonly<Record<string, Rule>>;

export function planted(fault: string, Store: new () => IdempotencyStore, ...breaks: readonly Rule[]): PlantedFault {
  return { fault, create: () => new Store(), breaks };
}
