import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { GUARANTEES } from './guarantees/index.js';
import { guaranteesPage } from './pages.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('The page of guarantees says what the scenarios say; npm run conformance writes it', () => {
  expect(read('docs/guarantees.md')).toBe(guaranteesPage());
});

it.each(GUARANTEES)('The report has a verdict on $id; npm run conformance writes it, on Node 24', ({ sentence }) => {
  expect(read('conformance/RESULTS.md')).toContain(`| ${sentence} | holds |`);
});
