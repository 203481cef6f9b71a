import { describe, expect, it } from 'vitest';
import { explain } from './explain.js';

describe('an error in a few words', () => {
  it('is its name and message', () => {
    expect(explain(new TypeError('no'))).toBe('TypeError: no');
  });

  it('is its name and code where Node says nothing else', () => {
    const failure = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' });

    expect(explain(failure)).toBe('AggregateError: ECONNREFUSED');
  });

  it('is whatever was thrown', () => {
    expect(explain('no')).toBe('no');
  });
});
