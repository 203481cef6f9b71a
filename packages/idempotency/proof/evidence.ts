import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Asked } from './clients.js';
import type { Effect } from './effects.js';
import { overlaps, type Span } from './moment.js';
import { stallsOf, type Life } from './server-process.js';
import type { Charge } from './server/charges.js';
import type { Acknowledgement } from './server/witness-store.js';
import type { Outage } from './store/outages.js';

/** All that is known about one key. */
export interface Story {
  readonly charge: Charge;
  readonly asked: readonly Asked[];
  /** In the order of time. */
  readonly effects: readonly Effect[];
  readonly acknowledged: readonly Acknowledgement[];
}

export interface Evidence {
  readonly stories: readonly Story[];
  readonly lives: ReadonlyMap<string, Life>;
  /** When the store was not to be relied on. */
  readonly outages: readonly Outage[];
  /** When the machine was too busy to go by its clock. */
  readonly stalls: readonly Stall[];
  /** Milliseconds. */
  readonly lockTtl: number;
  readonly joined: boolean;
}

/** A process, or its call of the store, that came on so late that a renewal was missed, though nobody had stopped it. */
export interface Stall extends Span {
  /** Whose. */
  readonly life: string;
}

export interface Sources {
  readonly folder: string;
  readonly charges: readonly Charge[];
  readonly asked: ReadonlyMap<string, readonly Asked[]>;
  readonly effects: readonly Effect[];
}

export function storiesOf({ folder, charges, asked, effects }: Sources): readonly Story[] {
  const effectsOf = byKey(effects);
  const acknowledgedOf = byKey(readAcknowledgements(folder));

  return charges.map((charge) => ({
    charge,
    asked: asked.get(charge.key) ?? [],
    effects: effectsOf.get(charge.key) ?? [],
    acknowledged: acknowledgedOf.get(charge.key) ?? [],
  }));
}

function readAcknowledgements(folder: string): readonly Acknowledgement[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));

  return files.flatMap((name) => linesOf<Acknowledgement>(join(folder, name)));
}

/** What was done to a process or to the store is no stall. */
export function stallsIn(folder: string, lives: readonly Life[], outages: readonly Outage[]): readonly Stall[] {
  return lives.flatMap((life) => {
    const file = join(folder, stallsOf(life));
    const spans = existsSync(file) ? linesOf<Span>(file) : [];
    const done = [...life.frozen, ...outages];

    return spans
      .filter(({ from, to }) => !done.some((span) => overlaps(span, from, to)))
      .map((span) => ({ ...span, life: life.name }));
  });
}

function linesOf<T>(file: string): readonly T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

function byKey<T extends { readonly key: string }>(items: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const ofKey = found.get(item.key);
    if (ofKey === undefined) found.set(item.key, [item]);
    else ofKey.push(item);
  }

  return found;
}
