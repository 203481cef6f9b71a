import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { docsPage } from './docs-page.js';
import { DOCS_PAGE, knownResults, RESULTS_PAGE } from './files.js';
import { reportPage } from './page.js';

describe('The pages that are written', () => {
  it('are what the figures that are kept give', async () => {
    const all = await knownResults();
    const page = readFileSync(DOCS_PAGE, 'utf8');

    expect(all.map(({ major }) => major)).toEqual([20, 24]);
    expect(readFileSync(RESULTS_PAGE, 'utf8')).toBe(reportPage(all));
    expect(docsPage(page, all)).toBe(page);
  });
});
