import { expect, it } from 'vitest';
import { counted } from './counted.js';

it.each([
  [0, '0 timers'],
  [1, '1 timer'],
  [2, '2 timers'],
])('The report speaks of %i of them as of "%s"', (count, text) => {
  expect(counted(count, 'timer')).toBe(text);
});
