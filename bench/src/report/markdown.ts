/** A table of Markdown: the first row is the head. Cells are text without bars. */
export function tableOf(rows: readonly (readonly string[])[], toTheLeft: number): string {
  const [head = [], ...body] = rows;
  const rule = head.map((_, column) => (column < toTheLeft ? '---' : '---:'));

  return [head, rule, ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Puts text between the marks `<!-- bench: name -->` and `<!-- bench: end -->` of a page, where it stays as it is when
 * the page is formatted.
 *
 * @throws Error when the page has no such marks.
 */
export function fillIn(page: string, name: string, text: string): string {
  const start = `<!-- bench: ${name} -->`;
  const end = '<!-- bench: end -->';
  const from = page.indexOf(start);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`There is no place for "${name}" in the page: ${start} … ${end}`);

  const filled = ['', '', '<!-- prettier-ignore-start -->', '', text, '', '<!-- prettier-ignore-end -->', '', ''].join(
    '\n',
  );

  return `${page.slice(0, from + start.length)}${filled}${page.slice(to)}`;
}
