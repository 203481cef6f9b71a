import type { Row } from './row.js';

const HEADINGS = ['row', 'what', 'article', 'here', 'condition', 'holds'];

/** The rows by their numbers in the article; the last two are its eighth, both ways. */
export function renderTable(rows: readonly Row[]): string {
  const numbers = rows.map((_row, at) => (at < 8 ? String(at + 1) : '8b'));
  const cells = rows.map(({ what, article, here, condition, holds }, at) => [
    numbers[at] ?? '',
    what,
    article,
    here,
    condition,
    holds ? 'yes' : 'NO',
  ]);

  return layOut([HEADINGS, ...cells]);
}

function layOut(lines: readonly (readonly string[])[]): string {
  const widths = HEADINGS.map((_heading, column) => Math.max(...lines.map((cells) => widthOf(cells[column] ?? ''))));

  return lines
    .map((cells) => cells.map((cell, column) => pad(cell, widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(width - widthOf(cell));
}

/** In columns of a terminal, where a Chinese character takes two. */
function widthOf(text: string): number {
  return text.length + (text.match(/\p{Script=Han}/gu)?.length ?? 0);
}
