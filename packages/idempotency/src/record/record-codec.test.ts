import { describe, expect, it } from 'vitest';
import type { IdempotencySealedResponse, IdempotencyStoredResponse } from '../store.js';
import { createRecordCodec, UnreadableRecordError, type UnreadableReason } from './record-codec.js';
import { Sealer } from './seal.js';
import { decodeValue, encodeValue } from './stored-value.js';

const KEY = 'correct horse battery staple, and more';
const RECORD = 'user-1:5f1c2a9e';
const RESPONSE: IdempotencyStoredResponse = {
  status: 201,
  headers: { location: '/shipments/7', 'x-many': ['a', 'b'] },
  body: encodeValue({ id: 7n, at: new Date(0) }),
};

const plain = createRecordCodec();
const sealed = createRecordCodec({ keys: [KEY] });

const failure = (read: () => unknown): UnreadableRecordError => {
  try {
    read();
  } catch (error) {
    if (error instanceof UnreadableRecordError) return error;
    throw error;
  }
  throw new Error('It was read.');
};
const reasonOf = (read: () => unknown): UnreadableReason => failure(read).reason;

/** What comes back from a store that keeps JSON. */
const stored = (payload: unknown): unknown => JSON.parse(JSON.stringify(payload));

describe.each([
  ['in clear', plain],
  ['sealed', sealed],
])('a record %s', (_, codec) => {
  it.each<[string, IdempotencyStoredResponse]>([
    ['a success', RESPONSE],
    ['no body', { status: 204, headers: {} }],
    ['a body of null', { status: 200, headers: {}, body: null }],
    ['an error', { status: 409, headers: { 'retry-after': '5' }, body: { message: 'no' }, error: 'http' }],
    ['an error of a message handler', { status: 400, headers: {}, body: 'no', error: 'rpc' }],
    ['an error of GraphQL', { status: 400, headers: {}, body: {}, error: 'graphql' }],
    ['the lowest and oddest status', { status: 100, headers: {} }],
    ['the highest status', { status: 599, headers: { 'x-latin': 'caf\u00e9\t~' } }],
    [
      'a body with an own __proto__',
      { status: 200, headers: {}, body: JSON.parse('{"__proto__":{"a":1}}') as unknown },
    ],
  ])('of %s is read as it was written', (_name, response) => {
    const copy = codec.read(RECORD, stored(codec.write(RECORD, response)));

    expect(copy).toStrictEqual(response);
    expect(Object.hasOwn(copy, 'body')).toBe(Object.hasOwn(response, 'body'));
    expect(JSON.stringify(copy)).toBe(JSON.stringify(response));
  });

  it('is a copy: nobody changes it afterwards', () => {
    const response = { status: 200, headers: { 'x-many': ['a'] as string[] } };
    const payload = codec.write(RECORD, response);
    response.status = 500;
    response.headers['x-many'].push('b');

    expect(codec.read(RECORD, payload)).toEqual({ status: 200, headers: { 'x-many': ['a'] } });
  });

  it('leaves out what is undefined', () => {
    const response = {
      status: 200,
      headers: {},
      body: undefined,
      error: undefined,
    } as unknown as IdempotencyStoredResponse;

    expect(Object.keys(codec.read(RECORD, codec.write(RECORD, response)))).toEqual(['status', 'headers']);
  });

  it('is not written in a form that would not be read', () => {
    const broken = { status: 200, headers: { 'x-a': 1 } } as unknown as IdempotencyStoredResponse;

    expect(() => codec.write(RECORD, broken)).toThrow(TypeError);
    expect(() => codec.write(RECORD, broken)).toThrow(/could be replayed: .*"x-a"/);
    expect(() => codec.write(RECORD, { ...RESPONSE, status: 0 })).toThrow(TypeError);
  });
});

describe('the marks of an answer in which something is missing', () => {
  it.each([
    ['in clear', plain],
    ['sealed', sealed],
  ])('are kept with it, %s', (_, codec) => {
    const partial = {
      ...RESPONSE,
      degraded: { 'x-degraded': 'reviews=upstream_error;3', 'cache-control': 'no-store' },
    };

    expect(codec.read(RECORD, stored(codec.write(RECORD, partial)))).toEqual(partial);
  });
});

describe('the body of a record', () => {
  it('is what the handler returned, once it is decoded', () => {
    const { body } = sealed.read(RECORD, stored(sealed.write(RECORD, RESPONSE)));

    expect(decodeValue(body)).toEqual({ id: 7n, at: new Date(0) });
  });

  it('cannot be found in the store when records are sealed', () => {
    const payload = sealed.write(RECORD, { status: 200, headers: { 'x-a': 'needle' }, body: 'needle' });

    expect(Object.keys(payload)).toEqual(['sealed']);
    expect(JSON.stringify(payload)).not.toContain('needle');
    expect(Buffer.from((payload as IdempotencySealedResponse).sealed, 'base64url').includes('needle')).toBe(false);
  });
});

describe('a record of another time', () => {
  it('is unreadable in clear while encryption is on, and sealed while it is off', () => {
    expect(reasonOf(() => sealed.read(RECORD, plain.write(RECORD, RESPONSE)))).toBe('plain');
    expect(reasonOf(() => plain.read(RECORD, sealed.write(RECORD, RESPONSE)))).toBe('sealed');
  });

  it('is unreadable with the keys of another time, and under another key', () => {
    const payload = sealed.write(RECORD, RESPONSE);
    const other = createRecordCodec({ keys: ['x'.repeat(32)] });

    expect(reasonOf(() => other.read(RECORD, payload))).toBe('unknown-key');
    expect(reasonOf(() => sealed.read('user-2:5f1c2a9e', payload))).toBe('tampered');
    expect(sealed.read(RECORD, payload)).toEqual(RESPONSE);
  });
});

describe('the answer of a store that makes no sense', () => {
  const polluted = JSON.parse('{"__proto__":{"x":"y"}}') as unknown;
  const hostile = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('boom');
      },
    },
  );
  const broken: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['a text', '{"status":200,"headers":{}}'],
    ['a number', 200],
    ['a list', [200, {}]],
    ['a function', () => RESPONSE],
    ['an empty object', {}],
    ['a date', new Date(0)],
    ['a response that is only inherited', Object.create(RESPONSE)],
    ['no status', { headers: {} }],
    ['a status in quotes', { status: '200', headers: {} }],
    ['a status with a fraction', { status: 200.5, headers: {} }],
    ['a status too low', { status: 99, headers: {} }],
    ['a status too high', { status: 600, headers: {} }],
    ['a status of NaN', { status: NaN, headers: {} }],
    ['a status that is an object', { status: { valueOf: () => 200 }, headers: {} }],
    ['no headers', { status: 200 }],
    ['headers of null', { status: 200, headers: null }],
    ['headers in a list', { status: 200, headers: [] }],
    ['headers in a text', { status: 200, headers: 'a: b' }],
    ['a header that is a number', { status: 200, headers: { a: 1 } }],
    ['a header that is null', { status: 200, headers: { a: null } }],
    ['a header that is an object', { status: 200, headers: { a: {} } }],
    ['a header with a number in its list', { status: 200, headers: { a: ['a', 1] } }],
    ['a header that begins another', { status: 200, headers: { a: 'b\r\nset-cookie: c' } }],
    ['a header in a list that begins another', { status: 200, headers: { a: ['b\nc'] } }],
    ['a header that Node refuses', { status: 200, headers: { a: 'ł' } }],
    ['a name of a header that Node refuses', { status: 200, headers: { 'a b': 'c' } }],
    ['an empty name of a header', { status: 200, headers: { '': 'c' } }],
    ['a name of a header in upper case', { status: 200, headers: { Location: '/' } }],
    ['a prototype among the headers', { status: 200, headers: polluted }],
    ['an unknown kind of error', { status: 400, headers: {}, error: 'ws' }],
    ['an error of null', { status: 400, headers: {}, error: null }],
    ['an error that is an object', { status: 400, headers: {}, error: ['http'] }],
    ['a field of a later version', { status: 200, headers: {}, marks: [] }],
    ['marks that are no headers', { status: 200, headers: {}, degraded: 'x-degraded' }],
    ['marks of null', { status: 200, headers: {}, degraded: null }],
    ['a mark that begins another header', { status: 200, headers: {}, degraded: { a: 'b\r\nset-cookie: c' } }],
    ['an own prototype', JSON.parse('{"status":200,"headers":{},"__proto__":{"error":"http"}}')],
    ['something that cannot be looked at', hostile],
  ];

  it.each(broken)('is unreadable: %s', (_, payload) => {
    expect(reasonOf(() => plain.read(RECORD, payload))).toBe('malformed');
    expect(reasonOf(() => sealed.read(RECORD, payload))).toBe('malformed');
  });

  it.each(broken.filter(([, payload]) => payload !== undefined && typeof payload !== 'function'))(
    'is unreadable also when it was sealed: %s',
    (_, payload) => {
      if (payload === hostile) return;
      const seal = new Sealer([KEY], 'keys').seal(RECORD, JSON.stringify(payload));

      expect(reasonOf(() => sealed.read(RECORD, { sealed: seal }))).toBe('malformed');
    },
  );

  it.each<[string, unknown]>([
    ['a number', { sealed: 1 }],
    ['null', { sealed: null }],
    ['a list', { sealed: ['v1'] }],
    ['with a response beside it', { ...sealed.write(RECORD, RESPONSE), ...RESPONSE }],
    ['with another field beside it', { ...sealed.write(RECORD, RESPONSE), more: 1 }],
    ['of nothing', { sealed: '' }],
    ['of nonsense', { sealed: 'nonsense' }],
  ])('is unreadable as a seal %s', (_, payload) => {
    expect(reasonOf(() => sealed.read(RECORD, payload))).toBe('malformed');
  });

  it('is unreadable when it was sealed, but is no JSON', () => {
    const seal = new Sealer([KEY], 'keys').seal(RECORD, '{"status":200,');

    expect(failure(() => sealed.read(RECORD, { sealed: seal }))).toMatchObject({
      reason: 'malformed',
      message: 'The stored record could not be read.',
      cause: expect.any(SyntaxError),
    });
  });

  it('takes nothing from a polluted prototype', () => {
    const prototype = Object.prototype as { error?: unknown; body?: unknown };
    prototype.error = 'http';
    prototype.body = 'polluted';
    try {
      expect(Object.keys(plain.read(RECORD, { status: 200, headers: {} }))).toEqual(['status', 'headers']);
    } finally {
      delete prototype.error;
      delete prototype.body;
    }
  });

  it('is not shown by the error', () => {
    for (const payload of ['s3cret', { status: 's3cret', headers: {} }, { status: 200, headers: { a: 's3cret\n' } }]) {
      expect(failure(() => plain.read(RECORD, payload)).message).not.toContain('s3cret');
    }
  });
});

describe('the encryption of records', () => {
  it.each<[unknown, string]>([
    [{}, 'encryption.keys: expected a list of keys, got undefined.'],
    [{ keys: [] }, 'encryption.keys: is empty. Give at least one key, or leave encryption out.'],
    [{ keys: [KEY, 'weak'] }, 'encryption.keys[1]: is a string of 4 characters, at least 32 are needed.'],
    [{ keys: [KEY], key: KEY }, 'encryption.key: unknown option. The only one is keys.'],
    [null, 'encryption: expected { keys: [...] }, got null.'],
    [true, 'encryption: expected { keys: [...] }, got a boolean.'],
    [[KEY], 'encryption: expected { keys: [...] }, got an array.'],
  ])('is refused at once for %o', (encryption, message) => {
    expect(() => createRecordCodec(encryption as never)).toThrow(TypeError);
    expect(() => createRecordCodec(encryption as never)).toThrow(message);
  });

  it('is refused with the path that the caller knows', () => {
    expect(() => createRecordCodec({ keys: ['weak'] }, 'forRoot().encryption')).toThrow(
      /^forRoot\(\)\.encryption\.keys\[0\]: /,
    );
  });

  it.each<[string, unknown]>([
    ['under the wrong name', { keys: [KEY], key: KEY }],
    ['for a list of keys', { keys: KEY }],
    ['for an object with keys', KEY],
    ['with a blank at the end', { keys: [`${KEY} `] }],
  ])('does not show a key that was given %s', (_, encryption) => {
    expect(() => createRecordCodec(encryption as never)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.not.stringContaining(KEY) }),
    );
  });
});
