import { describe, expect, it } from 'vitest';
import { isMisspelt } from './misspelt.js';

describe('isMisspelt', () => {
  it.each([
    ['one letter left out', 'carier', 'carrier'],
    ['two letters left out', 'carers', 'carriers'],
    ['a letter too many', 'carrrier', 'carrier'],
    ['two letters swapped', 'carreir', 'carrier'],
    ['another case', 'Carrier', 'carrier'],
    ['a dash too many', 'car-rier', 'carrier'],
    ['six letters', 'paymen', 'payment'],
    ['letters beside digits that are the same', 'replca-1', 'replica-1'],
    ['letters of any alphabet', 'перевозчк', 'перевозчик'],
  ])('is true for %s: %s instead of %s', (_case, name, meant) => {
    expect(isMisspelt(name, meant)).toBe(true);
  });

  it.each([
    ['three edits', 'carrxyz', 'carrier'],
    ['less than six letters', 'redi', 'redis'],
    ['five letters and many other characters', 'a-b-c-d-e', 'a-b-c-d-f'],
    ['another digit', 'carrier-1', 'carrier-2'],
    ['a digit too many', 'carrier2', 'carrier'],
    ['a digit left out', 'carrier', 'carrier2'],
    ['digits swapped', 'carrier-12', 'carrier-21'],
    ['a digit of another script', 'carrier-١', 'carrier-٢'],
  ])('is false for %s: %s beside %s', (_case, name, meant) => {
    expect(isMisspelt(name, meant)).toBe(false);
  });
});
