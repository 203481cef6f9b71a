import { describe, expect, it } from 'vitest';
import { scopeText } from './scope.js';

const of = (value: unknown): string | undefined => scopeText(value, 'PaymentsController.charge');

describe('a scope', () => {
  it.each([
    ['user-1', 'user-1'],
    [' ', ' '],
    ['ä\0\ud800', 'ä\0\ud800'],
    [0, '0'],
    [-0, '0'],
    [42, '42'],
    [1.5, '1.5'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [0n, '0'],
    [2n ** 64n, '18446744073709551616'],
  ])('of %o is %j', (value, text) => {
    expect(of(value)).toBe(text);
  });

  it.each([undefined, null, ''])('of %j is the namespace that all share', (value) => {
    expect(of(value)).toBeUndefined();
  });

  it.each([
    [{ id: 1 }, 'an object'],
    [['a'], 'an array'],
    [true, 'true'],
    [false, 'false'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    [Symbol('a'), 'Symbol(a)'],
    [function tenant() {}, 'function tenant'],
    [Promise.resolve('a'), 'an object'],
    [new String('a'), 'an object'],
    [new Date(0), 'an object'],
  ])('is not %o: the error names the handler and what it got', (value, shown) => {
    expect(() => of(value)).toThrow(TypeError);
    expect(() => of(value)).toThrow(`The idempotency scope of PaymentsController.charge is ${shown}: `);
  });

  it.each([2 ** 53, -(2 ** 53), 1e21])('is not %d: two callers may have been rounded to it', (value) => {
    expect(() => of(value)).toThrow(TypeError);
    expect(() => of(value)).toThrow(/as a string/);
  });
});
