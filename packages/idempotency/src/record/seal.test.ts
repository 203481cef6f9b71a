import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Sealer } from './seal.js';
import { UnreadableRecordError, type UnreadableReason } from './unreadable-record.js';

const PATH = 'encryption.keys';
const TEXT_KEY = 'correct horse battery staple, and more';
const BYTE_KEY = Buffer.from(Uint8Array.from({ length: 32 }, (_, index) => index));
const RECORD = 'user-1:5f1c2a9e';

const sealer = (...keys: unknown[]): Sealer => new Sealer(keys, PATH);
const reasonOf = (open: () => unknown): UnreadableReason => {
  try {
    open();
  } catch (error) {
    if (error instanceof UnreadableRecordError) return error.reason;
    throw error;
  }
  throw new Error('It was opened.');
};

describe('a seal', () => {
  // Records outlive the version that sealed them. These were made with WebCrypto.
  const CONTENT = '{"status":201,"headers":{"location":"/shipments/7"},"body":{"id":"7","label":"ä"}}';

  it.each([
    [
      'a text',
      TEXT_KEY,
      'v1.tvQ9kuW_.AQEBAQEBAQEBAQEB.XdQpM2a_xxztMM4_LHcW-svK8MfG6NT5_KBxGMpyeZz6cIynaXSfuwc4XrMD2xGA-P20AzLIKwkvt_7p0HLKRMty3XaAhHzRSOmOJrdkf2p3JCs.CryJp77PSR5P6_xJ945m2A',
    ],
    [
      'a Buffer',
      BYTE_KEY,
      'v1.Yw3NKWbE.AgICAgICAgICAgIC.4Apqz9itRCjpv5DIAlX4e3mIywnmJ1rLOXy9bBQKPau_lvpYPRmAsLAa79SEjD23RftxsWTLtwB18HDJP3AKdubhZE8TCDPwiNhh5XYcyULfy_I.0x3ZLtLR2LkNaih_JQvglQ',
    ],
  ])('of an earlier version opens with %s for a key', (_, key, sealed) => {
    expect(sealer(key).open(RECORD, sealed)).toBe(CONTENT);
    expect(sealer(key).seal(RECORD, CONTENT)).toHaveLength(sealed.length);
    expect(sealer(key).seal(RECORD, CONTENT).slice(0, 12)).toBe(sealed.slice(0, 12));
  });

  it('has five segments, and another initialisation vector each time', () => {
    const one = sealer(TEXT_KEY);
    const seals = Array.from({ length: 100 }, () => one.seal(RECORD, 'text'));

    for (const seal of seals) expect(seal).toMatch(/^v1\.[\w-]{8}\.[\w-]{16}\.[\w-]{6}\.[\w-]{22}$/);
    expect(new Set(seals.map((seal) => seal.split('.')[2])).size).toBe(100);
  });

  it.each(['', 'ä\0😀', 'x'.repeat(1_000_000)])('keeps a text of any length', (text) => {
    expect(sealer(TEXT_KEY).open(RECORD, sealer(TEXT_KEY).seal(RECORD, text))).toBe(text);
  });

  it('is made with the first key and opened with any of them: old, new, then new alone', () => {
    const before = sealer('old'.repeat(11)).seal(RECORD, 'a');
    const between = sealer('old'.repeat(11), TEXT_KEY).seal(RECORD, 'a');
    const after = sealer(TEXT_KEY, 'old'.repeat(11)).seal(RECORD, 'a');
    const both = sealer(TEXT_KEY, 'old'.repeat(11));

    expect([before, between, after].map((seal) => both.open(RECORD, seal))).toEqual(['a', 'a', 'a']);
    expect(before.slice(0, 12)).toBe(between.slice(0, 12));
    expect(sealer(TEXT_KEY).open(RECORD, after)).toBe('a');
    expect(reasonOf(() => sealer(TEXT_KEY).open(RECORD, between))).toBe('unknown-key');
  });

  it('does not open for another record', () => {
    const seal = sealer(TEXT_KEY).seal(RECORD, 'text');

    expect(reasonOf(() => sealer(TEXT_KEY).open('user-2:5f1c2a9e', seal))).toBe('tampered');
    expect(reasonOf(() => sealer(TEXT_KEY).open('', seal))).toBe('tampered');
  });

  it('does not open when any of its bits was changed', () => {
    const [version, id, ...parts] = sealer(TEXT_KEY).seal(RECORD, 'some text').split('.') as [
      string,
      string,
      ...string[],
    ];
    for (const [index, part] of parts.entries()) {
      const bytes = Buffer.from(part, 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
        const seal = [version, id, ...parts.with(index, changed.toString('base64url'))].join('.');

        expect(reasonOf(() => sealer(TEXT_KEY).open(RECORD, seal))).toBe('tampered');
      }
    }
  });

  it.each<[string, (parts: string[]) => string[], UnreadableReason]>([
    ['another key of the same length', (parts) => parts.with(1, 'AAAAAAAA'), 'unknown-key'],
    ['a key named as a property of every object', (parts) => parts.with(1, 'toString'), 'unknown-key'],
    ['a short key', (parts) => parts.with(1, 'AAAA'), 'malformed'],
    ['a later version', (parts) => parts.with(0, 'v2'), 'unknown-version'],
    ['a later version of another form', () => ['v2', 'anything'], 'unknown-version'],
    ['no version', (parts) => parts.slice(1), 'malformed'],
    ['another word for a version', (parts) => parts.with(0, 'V1'), 'malformed'],
    ['a segment too many', (parts) => [...parts, 'AAAA'], 'malformed'],
    ['a segment too few', (parts) => parts.slice(0, 4), 'malformed'],
    ['an empty segment at the end', (parts) => [...parts, ''], 'malformed'],
    ['no initialisation vector', (parts) => parts.with(2, ''), 'malformed'],
    ['a longer initialisation vector', (parts) => parts.with(2, 'A'.repeat(20)), 'malformed'],
    ['no tag', (parts) => parts.with(4, ''), 'malformed'],
    [
      'a tag of four bytes',
      (parts) =>
        parts.with(
          4,
          Buffer.from(parts[4] as string, 'base64url')
            .subarray(0, 4)
            .toString('base64url'),
        ),
      'malformed',
    ],
    ['no text', (parts) => parts.with(3, ''), 'tampered'],
    ['padding', (parts) => parts.with(4, `${parts[4]}==`), 'malformed'],
    ['a line break', (parts) => parts.with(3, `${parts[3]}\n`), 'malformed'],
    ['the other alphabet of base64', (parts) => parts.with(3, `+/${parts[3]}`), 'malformed'],
    ['nothing', () => [''], 'malformed'],
  ])('does not open with %s', (_, change, reason) => {
    const parts = sealer(TEXT_KEY).seal(RECORD, 'some text!').split('.');

    expect(reasonOf(() => sealer(TEXT_KEY).open(RECORD, change(parts).join('.')))).toBe(reason);
  });
});

describe('the keys of a seal', () => {
  it.each<[string, unknown, RegExp]>([
    ['a short text', 's'.repeat(31), /is a string of 31 characters, at least 32 are needed/],
    ['an empty text', '', /is a string of 0 characters/],
    ['a blank at the end', `${'s'.repeat(40)} `, /begins or ends with a blank/],
    ['a line break at the end', `${'s'.repeat(40)}\n`, /begins or ends with a blank/],
    ['a blank in front', ` ${'s'.repeat(40)}`, /begins or ends with a blank/],
    ['nothing but blanks', ' '.repeat(40), /begins or ends with a blank/],
    ['a short Buffer', Buffer.alloc(31), /is a Buffer of 31 bytes, exactly 32 are needed/],
    ['a long Buffer', Buffer.alloc(33), /is a Buffer of 33 bytes, exactly 32 are needed/],
    ['undefined', undefined, /expected a string or a Buffer, got undefined/],
    ['null', null, /expected a string or a Buffer, got null/],
    ['a number', 1, /expected a string or a Buffer, got a number/],
    ['an object', {}, /expected a string or a Buffer, got an object/],
    ['a list of bytes', Array.from(BYTE_KEY), /expected a string or a Buffer, got an array/],
  ])('are refused by their place: %s', (_, key, complaint) => {
    expect(() => sealer(TEXT_KEY, key)).toThrow(TypeError);
    expect(() => sealer(TEXT_KEY, key)).toThrow(complaint);
    expect(() => sealer(TEXT_KEY, key)).toThrow(/^encryption\.keys\[1\]: /);
    expect(() => sealer(key, TEXT_KEY)).toThrow(/^encryption\.keys\[0\]: /);
  });

  it.each([
    [undefined, 'expected a list of keys, got undefined.'],
    [TEXT_KEY, 'expected a list of keys, got a string.'],
    [BYTE_KEY, 'expected a list of keys, got an object.'],
    [[], 'is empty. Give at least one key, or leave encryption out.'],
  ])('are refused when they are no list, or none', (keys, complaint) => {
    expect(() => new Sealer(keys, PATH)).toThrow(TypeError);
    expect(() => new Sealer(keys, PATH)).toThrow(`encryption.keys: ${complaint}`);
  });

  it('are refused where the list has a hole', () => {
    const keys = [TEXT_KEY];
    keys.length = 2;

    expect(() => new Sealer(keys, PATH)).toThrow(/^encryption\.keys\[1\]: /);
  });

  it.each(['s'.repeat(32), randomBytes(32), new Uint8Array(32), 'ä'.repeat(32)])('are taken at the limit', (key) => {
    expect(sealer(key).open(RECORD, sealer(key).seal(RECORD, 'a'))).toBe('a');
  });

  it('are shown by no error and no log', () => {
    const secret = 's3cret-s3cret';
    let message = '';
    try {
      sealer(secret);
    } catch (error) {
      message = inspect(error);
    }

    expect(message).not.toContain(secret);
    expect(inspect(sealer(TEXT_KEY, BYTE_KEY), { depth: 9, showHidden: true })).not.toMatch(/correct horse|<Buffer/);
  });

  it('are copied: who gave a Buffer may wipe it', () => {
    const key = Buffer.from(BYTE_KEY);
    const one = sealer(key);
    key.fill(0);

    expect(sealer(BYTE_KEY).open(RECORD, one.seal(RECORD, 'a'))).toBe('a');
  });
});
