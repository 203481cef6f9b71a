import type { IdempotencyStoredPayload } from '../store.js';
import { PlainStore, type Entry } from './plain-store.model.js';
import { planted, RULE, type PlantedFault } from './planted-fault.model.js';

const nameWith = (nameOf: (key: string) => string) =>
  class extends PlainStore {
    protected override nameOf(key: string): string {
      return nameOf(key);
    }
  };

const copyWith = (copy: (response: IdempotencyStoredPayload) => IdempotencyStoredPayload) =>
  class extends PlainStore {
    protected override copy(response: IdempotencyStoredPayload): IdempotencyStoredPayload {
      return copy(response);
    }
  };

const viaText = (change: (text: string) => string) =>
  copyWith((response) => JSON.parse(change(JSON.stringify(response))) as IdempotencyStoredPayload);

/** As `jsonb` does. */
const sorted = (_key: string, value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)));

/** A plain object in place of a map. */
class ObjectForMap extends PlainStore {
  readonly #table: Record<string, Entry> = {};

  protected override find(key: string): Entry | undefined {
    const found = this.#table[key];

    return found !== undefined && this.isAlive(found) ? found : undefined;
  }

  protected override put(key: string, entry: Entry): void {
    this.#table[key] = entry;
  }

  override async release(key: string, owner: string): Promise<boolean> {
    return this.find(key)?.owner === owner && delete this.#table[key];
  }
}

function cutTexts(response: IdempotencyStoredPayload, length: number): IdempotencyStoredPayload {
  const cut = (_key: string, value: unknown): unknown => (typeof value === 'string' ? value.slice(0, length) : value);

  return JSON.parse(JSON.stringify(response), cut) as IdempotencyStoredPayload;
}

/** About keys and answers that come out as others than they went in. */
export const CONTENT_FAULTS: readonly PlantedFault[] = [
  planted(
    'keys are cut after 255 characters',
    nameWith((key) => key.slice(0, 255)),
    RULE.apart,
  ),
  planted(
    'keys are compared without their case',
    nameWith((key) => key.toLowerCase()),
    RULE.apart,
  ),
  planted(
    'keys are compared without blanks around them',
    nameWith((key) => key.trim()),
    RULE.apart,
  ),
  planted(
    'keys are composed',
    nameWith((key) => key.normalize()),
    RULE.apart,
  ),
  planted(
    'keys end at NUL',
    nameWith((key) => key.split('\0', 1)[0] as string),
    RULE.apart,
  ),
  planted(
    'keys are URI-decoded',
    nameWith((key) => key.replaceAll('%3A', ':')),
    RULE.apart,
  ),
  planted('keys are fields of an object', ObjectForMap, RULE.apart),
  planted(
    'answers are shared',
    copyWith((response) => response),
    RULE.copy,
  ),
  planted(
    'answers lose NUL',
    viaText((text) => text.replaceAll('\\u0000', '')),
    RULE.copy,
  ),
  planted(
    'answers lose what is beyond the first plane',
    viaText((text) => text.replaceAll(/\p{Extended_Pictographic}/gu, '?')),
    RULE.copy,
  ),
  planted(
    'answers lose the order of their fields',
    viaText((text) => JSON.stringify(JSON.parse(text, sorted))),
    RULE.copy,
  ),
  planted(
    'answers are cut at 64 kB',
    copyWith((response) => cutTexts(response, 65_536)),
    RULE.copy,
  ),
];
