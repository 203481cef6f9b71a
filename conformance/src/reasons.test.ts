import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { NotOffered, type Adapter } from './adapter.js';
import { assertReason } from './reasons.js';

const reason = new Error('the caller left');
const cancelled = new Error('cancelled');
const what = 'the caller got';

const plain: Adapter = { name: 'plain', version: '1.0.0' };
const withOwnWord: Adapter = { ...plain, isCancelled: (error) => error === cancelled };

describe('The reason of a caller', () => {
  it('is accepted from every library, by identity', () => {
    for (const library of [plain, withOwnWord]) assertReason(library, reason, { reason, what });
  });

  it('is not offered where a library documents a word of its own for cancelled calls, and says it', () => {
    expect(() => assertReason(withOwnWord, cancelled, { reason, what })).toThrow(NotOffered);
  });

  it('fails where something else is told, with or without such a word', () => {
    const other = new Error('the caller left');
    for (const library of [plain, withOwnWord]) {
      expect(() => assertReason(library, other, { reason, what })).toThrow(AssertionError);
    }
    expect(() => assertReason(plain, cancelled, { reason, what })).toThrow('the caller got Error: cancelled');
  });
});
