import { describe, expect, it } from 'vitest';
import { fillIn, tableOf } from './markdown.js';

describe('a table of Markdown', () => {
  it('has its first columns to the left and its figures to the right', () => {
    expect(
      tableOf(
        [
          ['case', 'ratio'],
          ['retry', '0.7'],
        ],
        1,
      ),
    ).toBe('| case | ratio |\n| --- | ---: |\n| retry | 0.7 |');
  });
});

describe('a place in a page', () => {
  const page = 'Before.\n\n<!-- bench: ratios -->\n\nold\n\n<!-- bench: end -->\n\nAfter.\n\n<!-- bench: end -->\n';

  it('gets another text, and the page around it stays as it is', () => {
    const filled = fillIn(page, 'ratios', 'new');

    expect(filled).toMatch(/^Before\.\n\n<!-- bench: ratios -->\n[^]*\nnew\n[^]*\n<!-- bench: end -->\n\nAfter\.\n/);
    expect(filled).not.toContain('old');
  });

  it('is filled the second time as the first', () => {
    expect(fillIn(fillIn(page, 'ratios', 'new'), 'ratios', 'new')).toBe(fillIn(page, 'ratios', 'new'));
  });

  it('is missed by name', () => {
    expect(() => fillIn(page, 'growth', 'new')).toThrow('There is no place for "growth" in the page');
  });
});
