export type Attributes = Readonly<Record<string, string | number>>;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ESCAPES[sign] as string);
}

/** An element with others inside of it; numbers are written with at most two decimals. */
export function element(name: string, attributes: Attributes, children: readonly string[] = []): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escaped(typeof value === 'number' ? shortened(value) : value)}"`)
    .join('');

  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('\n')}</${name}>`;
}

function shortened(value: number): string {
  return `${Number(value.toFixed(2))}`;
}

/** A line of text; `class` may be `label`, `small`, `title`, with `end` or `middle` for where `x` is. */
export function label(text: string, at: { readonly x: number; readonly y: number }, classes = 'label'): string {
  return element('text', { x: at.x, y: at.y, class: classes }, [escaped(text)]);
}

/** A line through points. */
export function polyline(points: readonly (readonly [x: number, y: number])[], attributes: Attributes): string {
  const path = points.map(([x, y]) => `${shortened(x)},${shortened(y)}`).join(' ');

  return element('polyline', { points: path, ...attributes });
}

/** For light and for dark pages, and told apart by those who see red and green alike (Okabe and Ito). */
const COLOURS = [
  ['#0072b2', '#56b4e9'],
  ['#d55e00', '#ff8c42'],
  ['#008060', '#2fc99d'],
  ['#a8508a', '#e59ccb'],
  ['#8a6d00', '#f0d24a'],
  ['#555555', '#b5b5b5'],
  ['#5b3fa8', '#b39dfa'],
  ['#b3202e', '#ff7b86'],
] as const;

/** How many colours there are: the classes `line-0` and `fill-0`, and so on. */
export const COLOUR_COUNT = COLOURS.length;

function coloured(theme: 0 | 1): string {
  return COLOURS.map(
    (pair, at) => `.line-${at}{stroke:${pair[theme]};fill:none;stroke-width:2}.fill-${at}{fill:${pair[theme]}}`,
  ).join('');
}

const STYLE = [
  'text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:12px;fill:#24292f}',
  '.title{font-size:16px;font-weight:600}.small{font-size:11px;fill:#57606a}',
  '.end{text-anchor:end}.middle{text-anchor:middle}',
  '.paper{fill:#ffffff}.grid{stroke:#d0d7de;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}',
  '.dashed{stroke-dasharray:5 4}.faint{opacity:.55}',
  coloured(0),
  '@media (prefers-color-scheme:dark){',
  'text{fill:#e6edf3}.small{fill:#9da7b1}.paper{fill:#0d1117}.grid{stroke:#30363d}.axis{stroke:#9da7b1}',
  coloured(1),
  '}',
].join('');

export interface Frame {
  readonly width: number;
  readonly height: number;
  /** Shown above the picture, and read out. */
  readonly title: string;
  /** Read out to those who do not see the picture. */
  readonly description: string;
}

/** A whole picture, on paper of its own, since it does not know the page that it is on. */
export function picture({ width, height, title, description }: Frame, children: readonly string[]): string {
  const root = element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' },
    [
      element('title', {}, [escaped(title)]),
      element('desc', {}, [escaped(description)]),
      element('style', {}, [STYLE]),
      element('rect', { class: 'paper', width, height }),
      label(title, { x: 16, y: 26 }, 'title'),
      ...children,
    ],
  );

  return `${root}\n`;
}
