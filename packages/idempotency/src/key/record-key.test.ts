import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recordKey, type RecordKeyParts } from './record-key.js';

describe('the key of a record', () => {
  it.each<[string, RecordKeyParts]>([
    ['5f1c2a9e-1001', { key: '5f1c2a9e-1001' }],
    ['user-1:5f1c2a9e', { key: '5f1c2a9e', scope: 'user-1' }],
    ['5f1c2a9e@graphql.batch.0.charge', { key: '5f1c2a9e', place: 'graphql.batch.0.charge' }],
    ['user-1:5f1c2a9e@rpc.Orders.paid', { key: '5f1c2a9e', scope: 'user-1', place: 'rpc.Orders.paid' }],
    ['a%3Ab', { key: 'a:b' }],
    ['a:b', { key: 'b', scope: 'a' }],
    ['a%40b', { key: 'a@b' }],
    ['%7Bslot%7D', { key: '{slot}' }],
    ['%C3%A4%2F%00:a%20b', { key: 'a b', scope: 'ä/\0' }],
    ['%uD800:k', { key: 'k', scope: '\ud800' }],
    ['%25uD800:k', { key: 'k', scope: '%uD800' }],
    ['a%uDC00%uD83Db%F0%9F%98%80:k', { key: 'k', scope: 'a\udc00\ud83db😀' }],
  ])('is %s', (text, parts) => {
    expect(recordKey(parts)).toBe(text);
  });

  it('does not tell a part that is undefined from one that is missing', () => {
    expect(recordKey({ key: 'a', scope: undefined, place: undefined })).toBe(recordKey({ key: 'a' }));
  });

  // All that separates parts, or is written as an escape, and one character that is neither.
  const ALPHABET = ['a', ':', '@', '%', '%3A', 'u', 'D800', '\ud800', '\udc00', ''];
  const TEXTS = [...new Set(ALPHABET.flatMap((first) => ALPHABET.map((second) => first + second)))];

  it('is another one for every other combination of parts', () => {
    const seen = new Map<string, string>();
    const optional = [undefined, ...TEXTS.filter((text) => text.length < 5)];
    for (const key of TEXTS) {
      for (const scope of optional) {
        for (const place of optional.slice(0, 9)) {
          const text = recordKey({ key, scope, place });
          const parts = JSON.stringify([key, scope ?? null, place ?? null]);
          if (seen.has(text)) throw new Error(`${parts} and ${seen.get(text)} are both ${text}`);
          seen.set(text, parts);
        }
      }
    }

    expect(seen.size).toBeGreaterThan(30_000);
  });

  it('can be taken apart again, whatever the parts are', () => {
    const text = fc.string({ unit: fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code)) });
    const decode = (part: string | undefined): string | undefined =>
      part === undefined
        ? undefined
        : part
            .split(/(%u[0-9A-F]{4})/)
            .map((piece, index) =>
              index % 2 === 0 ? decodeURIComponent(piece) : String.fromCharCode(Number.parseInt(piece.slice(2), 16)),
            )
            .join('');

    fc.assert(
      fc.property(
        text,
        fc.option(text, { nil: undefined }),
        fc.option(text, { nil: undefined }),
        (key, scope, place) => {
          const [, scopePart, keyPart, placePart] =
            /^(?:([^:@]*):)?([^:@]*)(?:@([^:@]*))?$/.exec(recordKey({ key, scope, place })) ?? [];

          expect([decode(keyPart), decode(scopePart), decode(placePart)]).toEqual([key, scope, place]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is ASCII without braces, blanks, slashes and control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (key, scope) => {
        expect(recordKey({ key, scope, place: key })).toMatch(/^[\w%.!~*'():@-]*$/);
      }),
    );
  });
});
