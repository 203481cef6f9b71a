import type { ExecutionContext } from '@nestjs/common';
import { isThenable } from 'holdfast/binding';
import type { IdempotencyContext, IdempotencyKeySource } from '../idempotency.options.js';
import { readKey, type KeyReading } from '../key/idempotency-key.js';
import { settingFor, type HandlerSettings } from '../settings.js';

/** The places of one transport in which a key may be. */
export interface KeyPlaces {
  header?(name: string): KeyReading;
  /** By a path such as `'order.id'`. */
  arg?(path: string): unknown;
  /** By a path such as `'order.id'`. */
  payload?(path: string): unknown;
}

export interface KeySearch {
  readonly places: KeyPlaces;
  readonly context: IdempotencyContext;
  readonly execution: ExecutionContext;
}

/**
 * The key, by what a handler's `keyFrom` says of this kind of call; `undefined` when it says nothing.
 *
 * @throws Error when the place is one that this kind of call has not.
 */
export function keyBySetting(
  { keyFrom }: HandlerSettings,
  { places, context, execution }: KeySearch,
): KeyReading | Promise<KeyReading> | undefined {
  const source = settingFor<IdempotencyKeySource>(keyFrom, context);
  if (source === undefined) return undefined;
  if (typeof source === 'function') return readFound(source(execution));
  if ('header' in source && places.header !== undefined) return places.header(source.header);
  if ('arg' in source && places.arg !== undefined) return readKey(places.arg(source.arg));
  if ('payload' in source && places.payload !== undefined) return readKey(places.payload(source.payload));

  throw new Error(
    `keyFrom: { ${Object.keys(source).join(', ')} } does not fit a call over ${context}, whose keys are found by ` +
      `${Object.keys(places).join(' or ')}. Use { http, graphql, rpc } for a handler that is called in several ways.`,
  );
}

const SOURCES: Readonly<Record<IdempotencyContext, readonly string[]>> = {
  http: ['header'],
  graphql: ['header', 'arg'],
  rpc: ['header', 'payload'],
};

/** The places in which `keyFrom` may look for the key of a call of this kind. */
export function sourcesFor(context: IdempotencyContext): readonly string[] {
  return SOURCES[context];
}

/** Whether a place of its own holds a key: what is empty there is none, and others are looked at. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function readFound(found: unknown): KeyReading | Promise<KeyReading> {
  return isThenable(found) ? Promise.resolve(found).then(readKey) : readKey(found);
}

/** What lies at a path of own properties; `undefined` where it leads nowhere. */
export function valueAt(value: unknown, path: string): unknown {
  let at: unknown = value;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }

  return at;
}
