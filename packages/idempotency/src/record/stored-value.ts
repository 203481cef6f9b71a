import { types } from 'node:util';
import { isThenable, kindOf } from 'holdfast/binding';
import { isStream } from '../stream.js';
import { setOwn } from './own-property.js';
import { UnreadableRecordError } from './unreadable-record.js';

const TAG = '__idempotencyType';

type Tag = 'Date' | 'BigInt' | 'Bytes' | 'Map' | 'Set' | 'Object';

/** An answer of which no copy can be kept: it is sent, and the key is released. */
export class NotStorableError extends Error {
  constructor(problem: string) {
    super(`The result ${problem}.`);
    this.name = 'NotStorableError';
  }
}

export interface EncodeOptions {
  /** Refuse functions, promises and streams at any depth, where they would be waited for or called. Default `false`. */
  readonly deep?: boolean;
}

/**
 * Deeper results are refused. What serialises a record, `JSON.stringify()` and `structuredClone()` among them, goes one
 * call deeper with each level, and gives up between 1,900 and 4,100 of them with the stack that Node has by default.
 * A level of a map is up to three of JSON.
 */
const MAX_DEPTH = 500;

/**
 * Makes plain JSON of what a handler returned, from which {@link decodeValue} makes an equal value.
 *
 * Dates, bigints, bytes (`Uint8Array`, thus `Buffer`), maps and sets become `{ "__idempotencyType": …, "value": … }`, as
 * does an object that has a property of this name itself. Everything else goes as in JSON: `toJSON()` is asked, own
 * enumerable properties count, `undefined`, functions and symbols are left out (`null` in a list), numbers that are not
 * finite and dates that are none are `null`. `undefined` stays `undefined`.
 *
 * @throws NotStorableError for a cycle, more than 500 levels, and a stream; what a getter or `toJSON()` throws is passed on.
 */
export function encodeValue(value: unknown, options: EncodeOptions = {}): unknown {
  if (typeof value === 'object' && value !== null && isStream(value)) throw new NotStorableError('is a stream');

  return new ValueEncoder(options.deep === true).encode(value);
}

/** A container whose members are being encoded, each put into `target` before its own members are. */
interface Frame {
  readonly source: object;
  /** `undefined` for a list. */
  readonly names: readonly string[] | undefined;
  readonly values: Readonly<Record<string | number, unknown>> | readonly unknown[];
  readonly size: number;
  readonly target: object;
  next: number;
}

class ValueEncoder {
  private readonly open: Frame[] = [];
  private readonly ancestors = new Set<object>();

  constructor(private readonly deep: boolean) {}

  encode(root: unknown): unknown {
    const encoded = this.value(root, '');
    for (let frame = this.open.at(-1); frame !== undefined; frame = this.open.at(-1)) {
      if (frame.next < frame.size) this.member(frame);
      else this.close(frame);
    }

    return encoded;
  }

  private member(frame: Frame): void {
    const name = frame.names === undefined ? frame.next : (frame.names[frame.next] as string);
    frame.next++;
    const encoded = this.value((frame.values as Record<string | number, unknown>)[name], name);
    if (encoded !== undefined) setOwn(frame.target, name, encoded);
    else if (frame.names === undefined) setOwn(frame.target, name, null);
  }

  private close(frame: Frame): void {
    this.open.pop();
    this.ancestors.delete(frame.source);
  }

  private value(value: unknown, name: string | number): unknown {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number') return numberOf(value);
    if (typeof value === 'bigint') return tagged('BigInt', String(value));
    if (this.deep) refuseLive(value);
    if (typeof value !== 'object' && typeof value !== 'function') return undefined;

    const special = hasOwnJson(value) ? undefined : this.special(value);
    if (special !== undefined) return special;

    return this.json(value, name);
  }

  /** What JSON loses. */
  private special(value: object): unknown {
    if (types.isDate(value)) return Number.isNaN(value.getTime()) ? null : tagged('Date', value.toISOString());
    if (types.isUint8Array(value)) {
      return tagged('Bytes', Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'));
    }
    if (types.isMap(value)) return tagged('Map', this.list(value, [...value]));
    if (types.isSet(value)) return tagged('Set', this.list(value, [...value]));

    return undefined;
  }

  private json(value: object, name: string | number): unknown {
    const { toJSON } = value as { readonly toJSON?: unknown };
    const plain: unknown = typeof toJSON === 'function' ? toJSON.call(value, String(name)) : value;
    if (this.deep) refuseLive(plain);
    if (typeof plain !== 'object' || plain === null) return this.primitive(plain);
    if (Array.isArray(plain)) return this.list(plain, plain);
    if (types.isBoxedPrimitive(plain) && !types.isSymbolObject(plain)) return this.primitive(plain.valueOf());

    return this.fields(plain);
  }

  /** `toJSON()` is asked once: what it returns is not asked again. */
  private primitive(value: unknown): unknown {
    return typeof value === 'function' ? undefined : this.value(value, '');
  }

  private list(source: object, values: readonly unknown[]): unknown[] {
    const target: unknown[] = [];
    this.enter({ source, names: undefined, values, size: values.length, target, next: 0 });

    return target;
  }

  private fields(source: object): unknown {
    const names = Object.keys(source);
    const target = {};
    this.enter({ source, names, values: source as Record<string, unknown>, size: names.length, target, next: 0 });

    return names.includes(TAG) ? tagged('Object', target) : target;
  }

  private enter(frame: Frame): void {
    if (this.ancestors.has(frame.source)) throw new NotStorableError('refers to itself');
    if (this.open.length === MAX_DEPTH) throw new NotStorableError(`is nested more than ${MAX_DEPTH} levels deep`);

    this.ancestors.add(frame.source);
    this.open.push(frame);
  }
}

/** JSON has no -0. */
function numberOf(value: number): number | null {
  if (!Number.isFinite(value)) return null;

  return value === 0 ? 0 : value;
}

/** Whether it has a `toJSON()` other than those of dates and buffers, which lose what the tags keep. */
function hasOwnJson(value: object): boolean {
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON !== 'function') return false;

  return toJSON !== Date.prototype.toJSON && toJSON !== Buffer.prototype.toJSON;
}

/** The members of an object, or those of a list or a set, in what {@link encodeValue} made of it; `undefined` for others. */
export function encodedMembers(encoded: unknown): object | undefined {
  if (typeof encoded !== 'object' || encoded === null || !Object.hasOwn(encoded, TAG)) {
    return typeof encoded === 'object' && encoded !== null ? encoded : undefined;
  }

  const { [TAG]: tag, value } = encoded as { readonly [TAG]: Tag; readonly value: object };
  return tag === 'Object' || tag === 'Set' ? value : undefined;
}

function refuseLive(value: unknown): void {
  if (typeof value === 'function') throw new NotStorableError('holds a function');
  if (typeof value !== 'object' || value === null) return;
  if (isThenable(value)) throw new NotStorableError('holds a promise');
  if (isStream(value)) throw new NotStorableError('holds a stream');
}

function tagged(type: Tag, value: unknown): object {
  return { [TAG]: type, value };
}

/**
 * Makes the value again that {@link encodeValue} was given, as far as JSON and the tags keep it; bytes as a `Buffer`.
 *
 * @throws UnreadableRecordError for anything that {@link encodeValue} does not make.
 */
export function decodeValue(stored: unknown): unknown {
  return stored === undefined ? undefined : new ValueDecoder().decode(stored);
}

/** A container whose members are being decoded, each handed to `put` before its own members are. */
interface DecodingFrame {
  readonly source: object;
  /** `undefined` for a list. */
  readonly names: readonly string[] | undefined;
  readonly size: number;
  readonly put: (value: unknown, name: string | number) => void;
  next: number;
}

class ValueDecoder {
  private readonly open: DecodingFrame[] = [];
  private readonly ancestors = new Set<object>();

  decode(root: unknown): unknown {
    const decoded = this.value(root);
    for (let frame = this.open.at(-1); frame !== undefined; frame = this.open.at(-1)) {
      if (frame.next === frame.size) {
        this.open.pop();
        this.ancestors.delete(frame.source);
        continue;
      }

      const name = frame.names === undefined ? frame.next : (frame.names[frame.next] as string);
      frame.next++;
      frame.put(this.value((frame.source as Record<string | number, unknown>)[name]), name);
    }

    return decoded;
  }

  private value(stored: unknown): unknown {
    if (stored === null || typeof stored === 'string' || typeof stored === 'boolean') return stored;
    if (typeof stored === 'number' && Number.isFinite(stored)) return stored;
    if (typeof stored !== 'object') throw unreadable(`holds ${kindOf(stored)} that is no JSON`);
    if (Array.isArray(stored)) return this.list(stored);
    if (!Object.hasOwn(stored, TAG)) return this.fields(stored);

    return this.tagged(stored as Readonly<Record<string, unknown>>);
  }

  private tagged(stored: Readonly<Record<string, unknown>>): unknown {
    const { [TAG]: tag, value } = stored;
    if (Object.keys(stored).length !== 2 || !Object.hasOwn(stored, 'value')) throw unreadable('holds a malformed tag');

    if (tag === 'Date') return dateOf(value);
    if (tag === 'BigInt') return bigintOf(value);
    if (tag === 'Bytes') return bytesOf(value);
    if (tag === 'Map' && Array.isArray(value)) return this.map(value);
    if (tag === 'Set' && Array.isArray(value)) return this.set(value);
    if (tag === 'Object' && isObject(value)) return this.fields(value);

    throw unreadable('holds an unknown tag');
  }

  private list(source: readonly unknown[]): unknown[] {
    const target: unknown[] = [];
    this.enter(source, (value) => target.push(value));

    return target;
  }

  private map(source: readonly unknown[]): Map<unknown, unknown> {
    if (!source.every((entry) => Array.isArray(entry) && entry.length === 2)) throw unreadable('holds a malformed map');

    // One list of keys and values in turn: a key that is a container is the same object before and after it is filled.
    const target = new Map();
    let key: unknown;
    this.enter(source.flat(1), (value, index) => {
      if (Number(index) % 2 === 0) key = value;
      else target.set(key, value);
    });

    return target;
  }

  private set(source: readonly unknown[]): Set<unknown> {
    const target = new Set();
    this.enter(source, (value) => target.add(value));

    return target;
  }

  private fields(source: object): object {
    const target = {};
    this.enter(source, (value, name) => setOwn(target, name, value));

    return target;
  }

  private enter(source: object, put: DecodingFrame['put']): void {
    if (this.ancestors.has(source)) throw unreadable('refers to itself');

    this.ancestors.add(source);
    const names = Array.isArray(source) ? undefined : Object.keys(source);
    const size = Array.isArray(source) ? source.length : (names as readonly string[]).length;
    this.open.push({ source, names, size, put, next: 0 });
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function dateOf(value: unknown): Date {
  const date = new Date(typeof value === 'string' ? value : NaN);
  if (Number.isNaN(date.getTime()) || date.toISOString() !== value) throw unreadable('holds a malformed date');

  return date;
}

function bigintOf(value: unknown): bigint {
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw unreadable('holds a malformed bigint');

  return BigInt(value);
}

function bytesOf(value: unknown): Buffer {
  const bytes = Buffer.from(typeof value === 'string' ? value : '', 'base64');
  if (bytes.toString('base64') !== value) throw unreadable('holds malformed bytes');

  return bytes;
}

function unreadable(problem: string): UnreadableRecordError {
  return new UnreadableRecordError('malformed', problem);
}
