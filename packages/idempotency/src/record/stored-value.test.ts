import { Readable } from 'node:stream';
import { runInNewContext } from 'node:vm';
import { StreamableFile } from '@nestjs/common';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeValue, encodeValue, NotStorableError } from './stored-value.js';
import { UnreadableRecordError } from './unreadable-record.js';

const TAG = '__idempotencyType';
const tag = (type: string, value: unknown): object => ({ [TAG]: type, value });

/** Through what every store does. */
const kept = (value: unknown): unknown => {
  const encoded = encodeValue(value);

  return decodeValue(encoded === undefined ? undefined : JSON.parse(JSON.stringify(encoded)));
};

const nested = (depth: number, inside: unknown = 1): unknown => {
  let value = inside;
  for (let level = 0; level < depth; level++) value = { a: value };

  return value;
};

describe('a stored value', () => {
  // Records outlive the version that wrote them.
  it.each<[string, unknown, unknown]>([
    ['a text', 'ä\0\ud800😀', 'ä\0\ud800😀'],
    ['a number', 1.5, 1.5],
    ['a boolean', false, false],
    ['null', null, null],
    ['an object', { b: [1, { c: 'd' }], a: null }, { b: [1, { c: 'd' }], a: null }],
    ['a date', new Date(1), tag('Date', '1970-01-01T00:00:00.001Z')],
    ['a date of another age', new Date(-1e15), tag('Date', '-029719-04-05T22:13:20.000Z')],
    ['a date that is none', { at: new Date(NaN) }, { at: null }],
    ['a bigint', -(10n ** 30n), tag('BigInt', '-1000000000000000000000000000000')],
    ['a buffer', Buffer.from([0, 255, 16]), tag('Bytes', 'AP8Q')],
    ['part of a buffer', new Uint8Array([1, 2, 3]).subarray(1, 2), tag('Bytes', 'Ag==')],
    [
      'a map',
      new Map<unknown, unknown>([
        [{ a: 1 }, 1n],
        ['b', undefined],
      ]),
      tag('Map', [
        [{ a: 1 }, tag('BigInt', '1')],
        ['b', null],
      ]),
    ],
    ['a set', new Set([1, [2]]), tag('Set', [1, [2]])],
    [
      'an object that has the tag itself',
      { [TAG]: 'Date', value: 'x', n: 1n },
      tag('Object', { [TAG]: 'Date', value: 'x', n: tag('BigInt', '1') }),
    ],
    ['an own __proto__', JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
    ['a typed array', new Float32Array([0.5]), { 0: 0.5 }],
  ])('of %s is written the same in every version', (_, value, stored) => {
    expect(encodeValue(value)).toEqual(stored);
    expect(JSON.stringify(encodeValue(value))).toBe(JSON.stringify(stored));
  });

  it('of nothing is nothing', () => {
    expect(encodeValue(undefined)).toBeUndefined();
    expect(decodeValue(undefined)).toBeUndefined();
  });

  it.each<[string, unknown, unknown]>([
    [
      'undefined, functions and symbols',
      { a: undefined, b: () => 1, c: Symbol('c'), [Symbol('d')]: 1, e: 1 },
      { e: 1 },
    ],
    ['those in a list', [undefined, () => 1, Symbol('c'), 1], [null, null, null, 1]],
    ['holes', Object.assign([1], { length: 3 }), [1, null, null]],
    ['numbers that are not finite, and -0', [NaN, Infinity, -Infinity, -0], [null, null, null, 0]],
    ['boxed primitives', [new Number(1), new String('a'), new Boolean(true), Object(1n)], [1, 'a', true, 1n]],
    [
      'toJSON()',
      { a: { toJSON: (name: string) => `of ${name}` }, b: [{ toJSON: () => undefined }] },
      { a: 'of a', b: [null] },
    ],
    [
      'what is inherited or hidden',
      Object.create({ a: 1 }, { b: { value: 1 }, c: { value: 1, enumerable: true } }),
      { c: 1 },
    ],
    [
      'an instance with a getter',
      new (class {
        id = 1;
        get name() {
          return 'a';
        }
      })(),
      { id: 1 },
    ],
    ['an error', new Error('a'), {}],
  ])('goes as in JSON for %s', (_, value, expected) => {
    expect(kept(value)).toEqual(expected);
  });

  it('has what toJSON() returns as JSON would write it: without asking again, and without tags', () => {
    class Special {
      constructor(private readonly inside: unknown) {}
      toJSON(): unknown {
        return this.inside;
      }
    }
    const insides = [new Date(0), Buffer.from('ab'), new Map([['a', 1]]), new Special(1), [new Date(0)], 'text', null];

    for (const inside of insides.filter((value) => !Array.isArray(value))) {
      expect(JSON.stringify(kept([new Special(inside)]))).toBe(JSON.stringify([new Special(inside)]));
    }
    expect(kept(new Special([new Date(0)]))).toEqual([new Date(0)]);
  });

  it('of a date or a map with a toJSON() of its own is what that says, as in the first answer', () => {
    class Day extends Date {
      override toJSON(): string {
        return this.toISOString().slice(0, 10);
      }
    }
    const map = Object.assign(new Map([['a', 1]]), { toJSON: () => ({ a: 1 }) });

    expect(kept([new Day(0), map])).toEqual(['1970-01-01', { a: 1 }]);
  });

  it('is an equal value after it was stored, of the same kinds', () => {
    const value = {
      date: new Date(1),
      big: 10n ** 40n,
      bytes: Buffer.from([0, 1, 255]),
      map: new Map<unknown, unknown>([
        ['a', new Set([new Map([[1n, new Date(2)]])])],
        [{ key: 1 }, [Buffer.alloc(0)]],
      ]),
      odd: [{ [TAG]: 'Map' }, { [TAG]: { [TAG]: 1n } }, { [TAG]: undefined, a: 1 }],
    };
    const copy = kept(value) as typeof value;

    expect(copy).toEqual({ ...value, odd: [...value.odd.slice(0, 2), { a: 1 }] });
    expect(Buffer.isBuffer(copy.bytes)).toBe(true);
    expect(copy.date).not.toBe(value.date);
  });

  it('has bytes as a Buffer, whatever view they were', () => {
    expect(kept(new Uint8Array([1, 2]))).toEqual(Buffer.from([1, 2]));
    expect(Buffer.isBuffer(kept([runInNewContext('new Uint8Array([1])')].at(0)))).toBe(true);
  });

  it('is the same text for the client, whatever was answered', () => {
    fc.assert(
      fc.property(
        fc.anything({ withDate: true, withMap: true, withSet: true, withSparseArray: true, withNullPrototype: true }),
        (value) => {
          expect(JSON.stringify(kept(value))).toBe(JSON.stringify(value));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('is an equal value for everything that is JSON, tags among it', () => {
    const names = fc.constantFrom(TAG, 'value', '__proto__', 'constructor', 'toJSON', 'a');
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(null, 'Date', 'Map', 'Bytes', 'Object', '', 1, true, '1970-01-01T00:00:00.000Z'),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(names, tie('json'), { maxKeys: 3 }),
      ),
    }));

    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.stringify(kept(value))).toBe(JSON.stringify(value));
      }),
      { numRuns: 3_000 },
    );
  });

  it('has no -0, which a store that keeps JSON would lose', () => {
    expect(Object.is(encodeValue(-0), 0)).toBe(true);
  });

  it('gives nobody a prototype', () => {
    const copy = kept(JSON.parse('{"__proto__":{"admin":true},"a":{"__proto__":{"admin":true}}}')) as {
      admin?: unknown;
      a: { admin?: unknown };
    };

    expect(copy.admin).toBeUndefined();
    expect(copy.a.admin).toBeUndefined();
    expect(Object.keys(copy)).toEqual(['__proto__', 'a']);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  it('may hold the same object twice', () => {
    const shared = { at: new Date(0) };

    expect(kept({ a: shared, b: [shared, shared], c: new Map([[shared, shared]]) })).toEqual({
      a: shared,
      b: [shared, shared],
      c: new Map([[shared, shared]]),
    });
  });

  it('is told before it is written by a getter that throws', () => {
    const value = {
      get total(): number {
        throw new RangeError('no total');
      },
    };

    expect(() => encodeValue(value)).toThrow(new RangeError('no total'));
  });
});

describe('what cannot be stored', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['list'] = [{ cyclic }];
  const map = new Map<unknown, unknown>();
  map.set('a', new Set([map]));
  const again = { toJSON: () => ({ again }) };

  it.each<[string, unknown]>([
    ['an object', cyclic],
    ['a map', map],
  ])('is %s that refers to itself', (_, value) => {
    expect(() => encodeValue(value)).toThrow(new NotStorableError('refers to itself'));
  });

  it('is what toJSON() makes without an end', () => {
    expect(() => encodeValue(again)).toThrow(NotStorableError);
  });

  it.each<[string, unknown]>([
    ['stream', Readable.from(['a'])],
    ['web stream', new ReadableStream()],
    ['async generator', (async function* () {})()],
    ['something with a pipe', { pipe: () => undefined }],
    ['file of Nest', new StreamableFile(Buffer.from('a'))],
  ])('is a %s', (_, value) => {
    expect(() => encodeValue(value)).toThrow(new NotStorableError('is a stream'));
  });

  it.each<[string, unknown, string]>([
    ['function', () => 1, 'holds a function'],
    ['promise', Promise.resolve(1), 'holds a promise'],
    ['thenable', { then: () => undefined }, 'holds a promise'],
    ['stream', Readable.from(['a']), 'holds a stream'],
    ['async generator', (async function* () {})(), 'holds a stream'],
  ])('is, on demand, a %s at any depth', (_, value, problem) => {
    for (const result of [{ a: [{ b: value }] }, [new Map([['a', value]])], { a: { toJSON: () => value } }]) {
      expect(() => encodeValue(result, { deep: true })).toThrow(new NotStorableError(problem));
      expect(() => encodeValue(result)).not.toThrow();
    }
    expect(() => encodeValue(value, { deep: true })).toThrow(NotStorableError);
  });

  it('is an ordinary value neither with nor without that', () => {
    const value = { a: [1, { b: new Date(0), c: 1n }], then: 'later', pipe: true };

    expect(encodeValue(value, { deep: true })).toEqual(encodeValue(value));
  });

  it('is nested deeper than what serialises records can follow', () => {
    expect(kept(nested(500))).toEqual(nested(500));
    expect(() => encodeValue(nested(501))).toThrow(new NotStorableError('is nested more than 500 levels deep'));
    expect(() => encodeValue(nested(1_000_000))).toThrow(NotStorableError);
  });

  it('is never so deep in JSON that a store would run out of stack', () => {
    let maps: unknown = 1;
    for (let level = 0; level < 250; level++) maps = new Map([['a', maps]]);
    const encoded = encodeValue(maps);

    expect(() => structuredClone(encoded)).not.toThrow();
    expect(() => JSON.stringify(encoded)).not.toThrow();
    expect(decodeValue(JSON.parse(JSON.stringify(encoded)))).toEqual(maps);
    expect(() => encodeValue(new Map([['a', maps]]))).toThrow(NotStorableError);
  });
});

describe('what was never stored', () => {
  it.each<[string, unknown]>([
    ['an unknown tag', tag('Regex', 'a')],
    ['a tag that is no text', { [TAG]: 1, value: 1 }],
    ['a tag without a value', { [TAG]: 'Date' }],
    ['a tag with more than a value', { [TAG]: 'Date', value: '1970-01-01T00:00:00.000Z', more: 1 }],
    ['a tag with another field', { [TAG]: 'Date', more: 1 }],
    ['a date that is none', tag('Date', 'soon')],
    ['a date in another form', tag('Date', '1970-01-01')],
    ['a date of null', tag('Date', null)],
    ['a date of a number', tag('Date', 0)],
    ['a bigint with a fraction', tag('BigInt', '1.5')],
    ['a bigint in hexadecimal', tag('BigInt', '0x10')],
    ['an empty bigint', tag('BigInt', '')],
    ['a bigint of a number', tag('BigInt', 1)],
    ['bytes in another alphabet', tag('Bytes', '-_-_')],
    ['bytes with a blank', tag('Bytes', 'AP8Q ')],
    ['bytes of a number', tag('Bytes', 1)],
    ['bytes of null', tag('Bytes', null)],
    ['a map that is no list', tag('Map', { a: 1 })],
    ['a map of something else than pairs', tag('Map', [['a', 1, 2]])],
    ['a map of texts', tag('Map', ['ab'])],
    ['a set that is no list', tag('Set', 'ab')],
    ['an object that is none', tag('Object', 'a')],
    ['an object that is a list', tag('Object', [])],
    ['a function', () => 1],
    ['a symbol', Symbol('a')],
    ['a bigint', 1n],
    ['NaN', NaN],
    ['undefined in an object', { a: undefined }],
  ])('is not decoded: %s', (_, stored) => {
    expect(() => decodeValue(stored)).toThrow(UnreadableRecordError);
    expect(() => decodeValue([{ a: stored }])).toThrow(expect.objectContaining({ reason: 'malformed' }));
  });

  it('is not decoded when it refers to itself', () => {
    const list: unknown[] = [];
    list.push({ list });

    expect(() => decodeValue(list)).toThrow('The stored record refers to itself.');
    expect(() => decodeValue(tag('Map', [[1, list]]))).toThrow(UnreadableRecordError);
  });

  it('costs no stack, however deep it is nested', () => {
    expect(() => decodeValue(nested(100_000))).not.toThrow();
    expect(() => decodeValue(nested(100_000, () => 1))).toThrow(UnreadableRecordError);
  });

  it('is not shown by the error, since it may be what a customer has ordered', () => {
    for (const stored of [tag('Date', 'secret'), tag('secret', 1), tag('BigInt', 'secret')]) {
      expect(() => decodeValue(stored)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') }),
      );
    }
  });
});
