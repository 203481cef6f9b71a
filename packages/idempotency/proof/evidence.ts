import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Asked } from './clients.js';
import type { Effect } from './effects.js';
import type { Life } from './server-process.js';
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
  /** Milliseconds. */
  readonly lockTtl: number;
  readonly joined: boolean;
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

  return files.flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Acknowledgement),
  );
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
