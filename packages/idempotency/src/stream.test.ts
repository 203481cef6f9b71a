import { PassThrough, Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { isStream } from './stream.js';

describe('a stream', () => {
  it.each<[string, object]>([
    ['readable of Node', Readable.from(['a'])],
    ['transform of Node', new PassThrough()],
    ['web stream', new ReadableStream()],
    ['async generator', (async function* () {})()],
    ['async iterable', { [Symbol.asyncIterator]: () => undefined }],
    ['response of fetch()', new Response('a')],
    ['file around one', new StreamableFile(Buffer.from('a'))],
  ])('is a %s', (_, value) => {
    expect(isStream(value)).toBe(true);
  });

  it.each<[string, object]>([
    ['data with the same names', { pipe: 'lead', getStream: true, getHeaders: 1 }],
    ['a list', [1]],
    ['a map', new Map()],
    ['bytes', Buffer.from('a')],
    ['a generator', (function* () {})()],
    ['something with headers', { getHeaders: () => ({}) }],
  ])('is not %s', (_, value) => {
    expect(isStream(value)).toBe(false);
  });
});
