import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { canonicalText } from './canonical-text.js';

const sha = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
const boom = (): never => {
  throw new Error('boom');
};

/** An array of as many arrays around `inside`. */
const nested = (depth: number, inside: unknown): unknown => {
  let value = inside;
  for (let level = 0; level < depth; level++) value = [value];

  return value;
};

describe('the canonical text', () => {
  // Fingerprints are made of it, and those are stored.
  it.each<[string, unknown, string]>([
    [
      'JSON',
      { b: [1, -0, 1e21, 'ä"\n', null, true], a: { d: 1.5, c: '\ud800' } },
      String.raw`{"a":{"c":"\ud800","d":1.5},"b":[1,0,1e+21,"ä\"\n",null,true]}`,
    ],
    ['what JSON leaves out', { a: undefined, b: () => 1, c: Symbol('c'), [Symbol('d')]: 1, e: 1 }, '{"e":1}'],
    ['what JSON makes null', [undefined, () => 1, Symbol('a'), NaN, -Infinity], '[null,null,null,null,null]'],
    ['a sparse list', Object.assign([1], { length: 3 }), '[1,null,null]'],
    ['a bigint', [10n, -1n], '[10n,-1n]'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a date that is none', [new Date(NaN)], '[null]'],
    ['boxed primitives', [new Number(1), new String('a'), new Boolean(false), Object(2n)], '[1,"a",false,2n]'],
    ['a boxed symbol', Object(Symbol('a')), '{}'],
    ['bytes', Buffer.from('abc'), `<bytes>${sha('abc')}`],
    ['a map', new Map([['a', 1]]), `<map>(${sha('["a",1]')})`],
    ['a set', new Set(['a']), `<set>(${sha('"a"')})`],
    ['an empty map', new Map(), '<map>()'],
    ['an empty set', new Set(), '<set>()'],
    ['nothing at all', undefined, '<missing>'],
    ['a function', boom, '<missing>'],
    ['a symbol', Symbol('a'), '<missing>'],
    ['a promise', [Promise.resolve(1)], '[<promise>]'],
    ['a stream', [Readable.from(['a'])], '[<stream>]'],
    ['a web stream', [new ReadableStream()], '[<stream>]'],
    ['an async generator', [(async function* () {})()], '[<stream>]'],
    ['an own __proto__', JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [
      'an instance',
      new (class Order {
        id = 1;
        #secret = 2;
        get total() {
          return this.#secret;
        }
      })(),
      '{"id":1}',
    ],
    ['an error, a pattern', [new Error('a'), /a/], '[{},{}]'],
  ])('of %s is the same in every version', (_, value, text) => {
    expect(canonicalText(value)).toBe(text);
  });

  it('has names in the order of their code units at every depth, and lists as they are', () => {
    expect(canonicalText({ b: { z: 1, Z: 2, ä: 3, 10: 4, 9: 5, '😀': 6, '\uffff': 7 }, a: [3, 1, 2] })).toBe(
      '{"a":[3,1,2],"b":{"10":4,"9":5,"Z":2,"z":1,"ä":3,"😀":6,"\uffff":7}}',
    );
  });

  it('tells nothing, an empty text, null, an empty object, an empty list and nothing in a list apart', () => {
    const texts = [undefined, '', null, {}, [], [null], 'null', 'undefined', '<missing>', 0, false, '0', 'false'].map(
      canonicalText,
    );

    expect(new Set(texts).size).toBe(texts.length);
  });

  it('tells 10n, 10 and "10" apart, also when bigints know how to become JSON', () => {
    const prototype = BigInt.prototype as { toJSON?: () => string };
    prototype.toJSON = function toJSON(this: bigint) {
      return String(this);
    };
    try {
      expect(canonicalText([10n, 10, '10', '10n'])).toBe('[10n,10,"10","10n"]');
    } finally {
      delete prototype.toJSON;
    }
  });

  it('is the same for values that look alike, wherever they come from', () => {
    const foreign = runInNewContext(
      '({ map: new Map([["a", 1]]), set: new Set([1]), date: new Date(0), bytes: new Uint8Array([1, 2]), list: [1], boxed: new Number(1) })',
    ) as object;

    expect(canonicalText(foreign)).toBe(
      canonicalText({
        map: new Map([['a', 1]]),
        set: new Set([1]),
        date: new Date(0),
        bytes: Buffer.from([1, 2]),
        list: [1],
        boxed: 1,
      }),
    );
  });
});

describe('the canonical text of toJSON()', () => {
  it('is that of what it returns, which is not asked again', () => {
    const again = { toJSON: () => ({ a: 1, toJSON: boom }) };

    expect(canonicalText({ b: { toJSON: () => [1] }, a: again })).toBe('{"a":{"a":1},"b":[1]}');
  });

  it('is told the name, as in JSON', () => {
    const named = { toJSON: (name: string) => `${typeof name} ${name}` };

    expect(canonicalText({ a: [named], b: named })).toBe('{"a":["string 0"],"b":"string b"}');
    expect(canonicalText(named)).toBe('"string "');
  });

  it('leaves out what it makes undefined', () => {
    const hidden = { toJSON: () => undefined };

    expect(canonicalText({ a: hidden, b: [hidden] })).toBe('{"b":[null]}');
    expect(canonicalText(hidden)).toBe('<missing>');
  });

  it('is asked of functions, and of maps that have one', () => {
    const map = Object.assign(new Map([['a', 1]]), { toJSON: () => 'map' });

    expect(canonicalText([Object.assign(() => 1, { toJSON: () => 'function' }), map])).toBe('["function","map"]');
  });
});

describe('the canonical text of bytes', () => {
  const bytes = Uint8Array.from([0, 1, 2, 250]);

  it.each<[string, unknown]>([
    ['Buffer', Buffer.from(bytes)],
    ['part of a larger buffer', new Uint8Array([9, 0, 1, 2, 250, 9]).subarray(1, 5)],
    ['ArrayBuffer', bytes.slice().buffer],
    ['DataView', new DataView(new Uint8Array([9, 0, 1, 2, 250, 9]).buffer, 1, 4)],
    ['Int8Array', new Int8Array(bytes.slice().buffer)],
    [
      'SharedArrayBuffer',
      (() => {
        const shared = new SharedArrayBuffer(4);
        new Uint8Array(shared).set(bytes);
        return shared;
      })(),
    ],
  ])('is that of their content: %s', (_, value) => {
    expect(canonicalText([value])).toBe(`[<bytes>${sha(bytes)}]`);
  });

  it('is not that of the JSON that a Buffer becomes', () => {
    expect(canonicalText(Buffer.from(bytes))).not.toBe(canonicalText(JSON.parse(JSON.stringify(Buffer.from(bytes)))));
  });

  it('differs with one bit', () => {
    expect(canonicalText(Buffer.alloc(100_000))).not.toBe(canonicalText(Buffer.alloc(100_000).fill(1, 99_999)));
  });
});

describe('the canonical text of maps and sets', () => {
  it('does not depend on the order of what they hold', () => {
    const one = new Map<unknown, unknown>([
      ['a', { x: 1, y: 2 }],
      [{ k: 1 }, new Set([1, [2], 'c'])],
    ]);
    const other = new Map<unknown, unknown>([
      [{ k: 1 }, new Set(['c', 1, [2]])],
      ['a', { y: 2, x: 1 }],
    ]);

    expect(canonicalText(one)).toBe(canonicalText(other));
  });

  it('differs with what they hold', () => {
    const texts = [
      new Map(),
      new Set(),
      {},
      [],
      new Map([['a', 1]]),
      new Map([['a', 2]]),
      new Map([['b', 1]]),
      new Map([[1, 'a']]),
      new Set([['a', 1]]),
      new Set(['a', 1]),
      [['a', 1]],
      { a: 1 },
      new Set([1, 2]),
      new Set([[1, 2]]),
      new Set([[1], [2]]),
      new Set([new Set([1, 2])]),
      new Set([new Set([1]), new Set([2])]),
      new Set([{}, {}]),
      new Set([{}]),
      new Map([['1', 1]]),
      new Map<unknown, unknown>([[1, 1]]),
    ].map(canonicalText);

    expect(new Set(texts).size).toBe(texts.length);
  });

  it('is put together well between other members', () => {
    expect(canonicalText([0, new Set([1]), 2])).toBe(`[0,<set>(${sha('1')}),2]`);
    expect(canonicalText(new Set([new Map([[1, new Set()]])]))).toBe(`<set>(${sha(`<map>(${sha('[1,<set>()]')})`)})`);
  });
});

describe('the canonical text of what cannot be written', () => {
  it('has a fixed token in its place', () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const hostile = new Proxy({}, { ownKeys: boom });
    const getter = Object.defineProperty({ b: 1 }, 'a', { get: boom, enumerable: true });
    const thenable = Object.defineProperty({}, 'then', { get: boom });
    const deepJson = { toJSON: (): unknown => deepJson.toJSON() };

    expect(canonicalText([{ toJSON: boom }, revoked.proxy, hostile, getter, thenable, deepJson, 1])).toBe(
      '[<unreadable>,<unreadable>,<unreadable>,{"a":<unreadable>,"b":1},<unreadable>,<unreadable>,1]',
    );
    expect(canonicalText(revoked.proxy)).toBe('<unreadable>');
    expect(canonicalText(new Map([[hostile, { toJSON: boom }]]))).toBe(`<map>(${sha('[<unreadable>,<unreadable>]')})`);
  });

  it('has a fixed token for a cycle, and none for an object that is there twice', () => {
    const address = { street: 'a' };
    const order: Record<string, unknown> = { from: address, to: address };
    order['self'] = order;
    const list: unknown[] = [];
    list.push([list]);
    const map = new Map<string, unknown>();
    map.set('a', map);

    expect(canonicalText(order)).toBe('{"from":{"street":"a"},"self":<cycle>,"to":{"street":"a"}}');
    expect(canonicalText(list)).toBe('[[<cycle>]]');
    expect(canonicalText(map)).toBe(`<map>(${sha('["a",<cycle>]')})`);
  });

  it('cannot be said by a payload', () => {
    const tokens = ['<unreadable>', '<cycle>', '<stream>', '<promise>', '<missing>', '<map>()', '<set>()', '10n'];

    for (const token of tokens) expect(canonicalText(token)).toBe(JSON.stringify(token));
  });

  it('costs no stack, however deep it is nested', () => {
    expect(canonicalText(nested(90_000, 1))).toBe(`${'['.repeat(90_000)}1${']'.repeat(90_000)}`);
    expect(canonicalText(nested(90_000, 1))).not.toBe(canonicalText(nested(90_000, 2)));

    let sets: unknown = 1;
    for (let level = 0; level < 20_000; level++) sets = new Set([sets]);
    expect(canonicalText(sets)).toMatch(/^<set>\([0-9a-f]{64}\)$/);
  });

  it('has an end where the value has none', () => {
    class Endless {
      get next(): Endless {
        return new Endless();
      }
      toJSON(): object {
        return { a: new Endless(), b: new Endless() };
      }
    }
    const text = canonicalText({ a: new Endless(), b: 1 });

    expect(text.slice(0, 15)).toBe('{"a":{"a":{"a":');
    expect(text.slice(-14)).toBe('<more>}<more>}');
    expect(text).toContain('"a":<deeper><more>}<more>}');
    expect(text.length).toBeLessThan(2_000_000);
  });

  it('is a token itself where it would be longer than a string can be', () => {
    vi.spyOn(JSON, 'stringify').mockImplementation(() => {
      throw new RangeError('Invalid string length');
    });

    expect(canonicalText(['a'])).toBe('<unreadable>');
  });

  it('does not walk through what is not there', () => {
    const long: unknown[] = new Array(2 ** 32 - 1);
    long[1_000_000_000] = { b: 1, a: 2 };

    expect(canonicalText([1, long])).toBe('[1,<sparse>4294967295{"1000000000":{"a":2,"b":1}}]');
  });

  it('reads a list as JSON does up to a million places, and beyond that while most of them are taken', () => {
    const isNulls = canonicalText(new Array(1_000_000)) === `[${'null,'.repeat(999_999)}null]`;
    const isOnes = canonicalText(new Array(1_000_001).fill(1)) === `[${'1,'.repeat(1_000_000)}1]`;

    // Compared beforehand: what `expect()` is given, it prepares to print.
    expect([isNulls, isOnes]).toEqual([true, true]);
  });
});

describe('the canonical text of any JSON', () => {
  const shuffled = (value: unknown, random: () => number): unknown => {
    if (Array.isArray(value)) return value.map((item) => shuffled(item, random));
    if (typeof value !== 'object' || value === null) return value;

    return Object.fromEntries(
      Object.entries(value)
        .map(([name, item]) => ({ name, item, place: random() }))
        .sort((a, b) => a.place - b.place)
        .map(({ name, item }) => [name, shuffled(item, random)]),
    );
  };

  it('does not depend on the order of names', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (value, places) => {
        const random = (): number => places.next().value;

        expect(canonicalText(shuffled(value, random))).toBe(canonicalText(value));
      }),
      { numRuns: 500 },
    );
  });

  it('is JSON of an equal value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalText(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500 },
    );
  });

  // Few leaves and names, so that equal values, and values that are nearly equal, are met often.
  const small = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<unknown>(null, 0, '', '0', 'a', false, 0n, Buffer.from('a')),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 2 }),
      fc.array(tie('value'), { maxLength: 2 }).map((items) => new Set(items)),
      fc
        .array(fc.tuple(fc.constantFrom('a', 'b', 0), tie('value')), { maxLength: 2 })
        .map((entries) => new Map(entries)),
    ),
  })).value;

  it('is the same for two values exactly when they are equal', () => {
    let equal = 0;
    fc.assert(
      fc.property(small, small, (one, other) => {
        const same = isDeepStrictEqual(plain(one), plain(other));
        if (same) equal++;

        expect(canonicalText(one) === canonicalText(other)).toBe(same);
      }),
      { numRuns: 10_000 },
    );

    expect(equal).toBeGreaterThan(200);
  });

  /** Without prototypes, which are no part of what a value says. */
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    if (value instanceof Set) return new Set([...value].map(plain));
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, plain(item)]));
    if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;

    return { fields: new Map(Object.entries(value).map(([key, item]) => [key, plain(item)])) };
  };
});
