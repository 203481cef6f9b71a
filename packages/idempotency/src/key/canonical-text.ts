import { hash } from 'node:crypto';
import { types } from 'node:util';
import { isThenable } from 'holdfast/binding';
import { isStream } from '../stream.js';

/** Stands for what cannot be written. JSON has nothing that begins with it, so that no data is mistaken for one. */
class Token {
  constructor(readonly text: string) {}
}

const UNREADABLE = new Token('<unreadable>');

/**
 * Getters and proxies can make structures without an end, and those are deep: what reaches this depth is cut off there,
 * and so is everything behind it. A JSON body has to be 100 kB of brackets to get here.
 */
const MAX_DEPTH = 100_000;

/** A list of a billion elements may be nothing but a length. A longer one than this is looked at before it is walked through. */
const LONG_LIST = 1_000_000;

/**
 * One text for all values that mean the same: JSON with the names of every object in order of their UTF-16 code units.
 *
 * As in JSON, `toJSON()` is asked first, `undefined`, functions and symbols are left out (`null` in a list), numbers that
 * are not finite are `null`, boxed primitives are unboxed, and only own enumerable properties with a text for a name
 * count. Unlike in JSON, a bigint is `10n`; bytes are their SHA-256, whether `Buffer`, another view or an `ArrayBuffer`; a
 * `Map` and a `Set` are their content, whatever its order, and never alike; a stream, a promise and a cycle are fixed
 * tokens, as is whatever throws when it is looked at; and a value that is missing altogether is a token of its own.
 *
 * Never throws, and nesting costs no stack.
 */
export function canonicalText(value: unknown): string {
  try {
    return new CanonicalWriter().write(value);
  } catch {
    // Longer than a string can be: half a gigabyte.
    return UNREADABLE.text;
  }
}

/** A container that is being written. */
interface Members {
  readonly source: object;
  /** What precedes each member: the names of an object. */
  readonly labels?: readonly string[];
  /** Read one by one: an array may be sparse and as long as 2^32 - 1. */
  readonly values: readonly unknown[];
  readonly size: number;
  readonly end: string;
  /** Of a container without order: the digests of its members, and the text before it. */
  readonly bag?: { readonly digests: string[]; readonly before: string };
  next: number;
}

class CanonicalWriter {
  private text = '';
  private full = false;
  private readonly open: Members[] = [];
  private readonly ancestors = new Set<object>();

  write(root: unknown): string {
    this.value(read({ '': root }, ''));
    for (let members = this.open.at(-1); members !== undefined; members = this.open.at(-1)) {
      if (members.next < members.size && !this.full) this.member(members);
      else this.end(members);
    }

    return this.text;
  }

  private member(members: Members): void {
    const index = members.next++;
    if (members.bag !== undefined) this.collect(members.bag.digests, index);
    else if (index > 0) this.text += ',';

    if (members.labels === undefined) {
      const value = read(members.values, index);
      this.value(isDropped(value) ? null : value);
    } else {
      this.text += members.labels[index] as string;
      this.value(members.values[index]);
    }
  }

  private end(members: Members): void {
    this.open.pop();
    this.ancestors.delete(members.source);
    if (members.next < members.size) this.text += '<more>';
    if (members.bag !== undefined) {
      this.collect(members.bag.digests, members.next);
      this.text = members.bag.before + members.bag.digests.sort().join(',');
    }
    this.text += members.end;
  }

  /** A digest for each member, so that they can be sorted at a price that does not grow with what is inside of them. */
  private collect(digests: string[], count: number): void {
    if (count > 0) digests.push(hash('sha256', this.text, 'hex'));
    this.text = '';
  }

  private value(value: unknown): void {
    if (typeof value === 'string') this.text += JSON.stringify(value);
    else if (typeof value === 'number') this.text += Number.isFinite(value) ? String(value) : 'null';
    else if (typeof value === 'boolean' || value === null) this.text += String(value);
    else if (typeof value === 'bigint') this.text += `${value}n`;
    else if (typeof value !== 'object') this.text += '<missing>';
    else if (value instanceof Token) this.text += value.text;
    else this.object(value);
  }

  private object(source: object): void {
    if (this.ancestors.has(source)) {
      this.text += '<cycle>';
    } else if (this.open.length === MAX_DEPTH) {
      this.text += '<deeper>';
      this.full = true;
    } else {
      this.described(source);
    }
  }

  private described(source: object): void {
    try {
      const members = this.membersOf(source);
      if (members === undefined) return;
      this.open.push(members);
      this.ancestors.add(source);
    } catch {
      this.text += UNREADABLE.text;
    }
  }

  /** Begins a container, or writes what is none. */
  private membersOf(source: object): Members | undefined {
    if (Array.isArray(source)) return this.list(source);
    if (isPlain(source)) return this.fields(source);
    if (types.isMap(source)) return this.bag(source, 'map', [...Map.prototype.entries.call(source)]);
    if (types.isSet(source)) return this.bag(source, 'set', [...Set.prototype.values.call(source)]);

    const leaf = leafOf(source);
    if (leaf === undefined) return this.fields(source);
    if (typeof leaf === 'object') this.text += leaf.text;
    else this.value(leaf);

    return undefined;
  }

  private list(source: readonly unknown[]): Members {
    const size = source.length;
    if (size > LONG_LIST && Object.keys(source).length < size / 2) {
      this.text += `<sparse>${size}`;
      return this.fields(source);
    }
    this.text += '[';

    return { source, values: source, size, end: ']', next: 0 };
  }

  private bag(source: object, name: string, values: readonly unknown[]): Members {
    const bag = { digests: [], before: `${this.text}<${name}>(` };

    return { source, values, size: values.length, end: ')', bag, next: 0 };
  }

  private fields(source: object): Members {
    const labels: string[] = [];
    const values: unknown[] = [];
    for (const name of Object.keys(source).sort()) {
      const value = read(source, name);
      if (isDropped(value)) continue;
      labels.push(`${JSON.stringify(name)}:`);
      values.push(value);
    }
    this.text += '{';

    return { source, labels, values, size: values.length, end: '}', next: 0 };
  }
}

/** Most objects: nothing has to be asked about them. */
function isPlain(source: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(source);
  if (prototype !== Object.prototype && prototype !== null) return false;

  return !isThenable(source) && !isStream(source);
}

/** An object that is one value, or a token for what it holds. */
function leafOf(source: object): Token | string | number | boolean | bigint | undefined {
  if (isBytes(source)) return new Token(`<bytes>${hash('sha256', bytesOf(source), 'hex')}`);
  if (types.isBoxedPrimitive(source)) return unboxed(source);
  if (isThenable(source)) return new Token('<promise>');
  if (isStream(source)) return new Token('<stream>');

  return undefined;
}

function isBytes(value: object): value is ArrayBufferView | ArrayBufferLike {
  return ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);
}

function bytesOf(value: ArrayBufferView | ArrayBufferLike): Uint8Array {
  if (!ArrayBuffer.isView(value)) return new Uint8Array(value);

  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** A boxed symbol is an object like any other, for JSON too. */
function unboxed(value: object): string | number | boolean | bigint | undefined {
  if (types.isNumberObject(value)) return Number.prototype.valueOf.call(value);
  if (types.isStringObject(value)) return String.prototype.valueOf.call(value);
  if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
  if (types.isBigIntObject(value)) return BigInt.prototype.valueOf.call(value);

  return undefined;
}

/** A member as JSON sees it. The `toJSON()` of a `Buffer` makes a list of numbers of it, and is not asked. */
function read(holder: object, name: string | number): unknown {
  try {
    const value = (holder as Record<string | number, unknown>)[name];
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON !== 'function' || isBytes(value)) return value;

    return toJSON.call(value, String(name)) as unknown;
  } catch {
    return UNREADABLE;
  }
}

function isDropped(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}
