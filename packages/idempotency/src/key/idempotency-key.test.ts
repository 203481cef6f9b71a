import { describe, expect, it } from 'vitest';
import { headerKey, readKey, type KeyReading } from './idempotency-key.js';

const keyOf = (reading: KeyReading): string => {
  if (reading.kind !== 'key') throw new Error(JSON.stringify(reading));

  return reading.key;
};

const PRINTABLE = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index)).join('');

describe('a key', () => {
  it.each([
    ['5f1c2a9e-shipment-1001', '5f1c2a9e-shipment-1001'],
    ['  a  ', 'a'],
    ['\ta\n', 'a'],
    ['a b', 'a b'],
    ['"a"', 'a'],
    [' "a" ', 'a'],
    ['"a";v=1', 'a'],
    ['" a "', ' a '],
    ['"a, b"', 'a, b'],
    [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    [42, '42'],
    [0, '0'],
    [-0, '0'],
    [-1.5, '-1.5'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [10n ** 20n, '100000000000000000000'],
    [['a'], 'a'],
    [['a', 'b'], 'a'],
    [[42], '42'],
  ])('of %o is %j', (value, key) => {
    expect(readKey(value)).toEqual({ kind: 'key', key });
  });

  it('is the same one bare and in quotes', () => {
    const id = '8e03978e-40d5-43dd-bc93-6894a57f9324';

    expect(readKey(id)).toEqual(readKey(`"${id}"`));
    expect(headerKey([id])).toEqual(headerKey([`"${id}"`]));
  });

  it.each([1, 254, 255])('may have %d characters, whatever stands around them', (length) => {
    const key = 'k'.repeat(length);

    expect(keyOf(readKey(key))).toBe(key);
    expect(keyOf(readKey(`  ${key}  `))).toBe(key);
    expect(keyOf(readKey(`"${key}"`))).toBe(key);
    expect(keyOf(readKey(`"${'\\"'.repeat(length)}"`))).toHaveLength(length);
  });

  it.each([256, 4_096, 10_000_000])('may not have %d characters', (length) => {
    const problem = 'is longer than 255 characters';

    expect(readKey('k'.repeat(length))).toEqual({ kind: 'invalid', problem });
    expect(readKey(`"${'k'.repeat(length)}"`)).toEqual({ kind: 'invalid', problem });
    expect(headerKey(['k'.repeat(length)])).toEqual({ kind: 'invalid', problem });
    expect(readKey(10n ** BigInt(255))).toEqual({ kind: 'invalid', problem });
  });

  it.each([...PRINTABLE])('may have a %j inside', (character) => {
    expect(keyOf(readKey(`a${character}b`))).toBe(`a${character}b`);
    expect(keyOf(readKey(`"a${character.replace(/["\\]/, '\\$&')}b"`))).toBe(`a${character}b`);
  });

  it.each(['\0', '\t', '\n', '\r', '\x1f', '\x7f', '\x80', 'ä', '\ud800', '😀', '\u200b', '\u00a0'])(
    'may not have a %j inside, bare or in quotes',
    (character) => {
      expect(readKey(`a${character}b`)).toEqual({
        kind: 'invalid',
        problem: 'has characters other than printable ASCII',
      });
      expect(readKey(`"a${character}b"`).kind).toBe('invalid');
      expect(headerKey([`a${character}b`]).kind).toBe('invalid');
    },
  );

  it.each([undefined, null, '', ' ', '\t', '""', '"   "', ' "" ', '"";v=1', [], [''], [undefined], [null], ['', 'a']])(
    'is missing when there is %j',
    (value) => {
      expect(readKey(value)).toEqual({ kind: 'missing' });
    },
  );

  it.each([true, false, NaN, Infinity, {}, { key: 'a' }, [['a']], [{}], Symbol('a'), () => 'a', new String('a')])(
    'is not of another type: %o',
    (value) => {
      expect(readKey(value)).toEqual({ kind: 'invalid', problem: 'must be a text or a finite number' });
    },
  );

  it.each([2 ** 53, -(2 ** 53), JSON.parse('1234567890123456789'), 1e21])(
    'is not %d, which stands for several numbers that clients may have sent',
    (value) => {
      expect(readKey(value).kind).toBe('invalid');
    },
  );

  it.each(['"', '"a', '"a\\"', '"a" b', '"a"b', '"a", "b"', '"a" ;v=1', '"a";V=1', String.raw`"a\b"`, '"a";'])(
    'is not the malformed string %s',
    (value) => {
      expect(readKey(value).kind).toBe('invalid');
      expect(headerKey([value]).kind).toBe('invalid');
    },
  );

  it('that is refused is not repeated in the problem, which goes back over the wire and into logs', () => {
    for (const text of ['sécret', 's3cret'.repeat(50), '"s3cret', '"s3cret"x', 's3cret, s3cret']) {
      const reading = headerKey([text]);

      expect(reading.kind).toBe('invalid');
      expect(JSON.stringify(reading)).not.toMatch(/s3cret|sécret/);
    }
  });
});

describe('the key of a header', () => {
  it.each([undefined, [], [''], ['  '], ['""']])('is missing when its lines are %j', (lines) => {
    expect(headerKey(lines)).toEqual({ kind: 'missing' });
  });

  it.each([[['a', 'b']], [['a', 'a']], [['"a"', '"b"']], [['a', '']], [['', '']], [['a', 'b', 'c']]])(
    'is refused when it was sent in several lines: %j',
    (lines) => {
      expect(headerKey(lines)).toEqual({ kind: 'invalid', problem: 'was sent more than once' });
    },
  );

  it.each(['a, b', 'a,b', 'a,', ',a', ',', 'a, a', '"a", "b"', '"a","a"', '"a", b', 'a, "b"'])(
    'is refused when a proxy or the server made one line of several: %s',
    (line) => {
      expect(headerKey([line]).kind).toBe('invalid');
    },
  );

  it.each([
    ['"a, b"', 'a, b'],
    ['"a,b"; v="c, d"', 'a,b'],
  ])('has a comma of its own within quotes: %s', (line, key) => {
    expect(keyOf(headerKey([line]))).toBe(key);
  });

  it.each(['a"', 'a"b"', 'a"b', "'a\"'"])('is refused with a quote that does not begin it: %s', (line) => {
    expect(headerKey([line]).kind).toBe('invalid');
  });

  it('may have any other printable character, bare', () => {
    for (const character of PRINTABLE.replace(/[",]/g, '')) {
      expect(keyOf(headerKey([`a${character}b`]))).toBe(`a${character}b`);
    }
  });

  it('keeps what would be a parameter of a token: only strings have parameters that are ignored', () => {
    expect(keyOf(headerKey(['a;v=1']))).toBe('a;v=1');
    expect(keyOf(headerKey(['"a";v=1']))).toBe('a');
  });
});
