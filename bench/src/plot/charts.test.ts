import { describe, expect, it } from 'vitest';
import { barChart } from './bar-chart.js';
import { lineChart } from './line-chart.js';
import { element, picture } from './svg.js';

/** The numbers of an attribute, of all elements that have it in this class. */
function numbers(svg: string, tag: string, attribute: string): number[] {
  const elements = svg.match(new RegExp(`<${tag} [^>]*`, 'g')) ?? [];

  return elements.flatMap((text) => {
    const found = new RegExp(` ${attribute}="([^"]*)"`).exec(text)?.[1];

    return found === undefined ? [] : [Number(found)];
  });
}

describe('a picture', () => {
  const frame = { width: 10, height: 10, title: 'a < b & "c"', description: 'd' };

  it('escapes what it says', () => {
    expect(picture(frame, [])).toContain('<title>a &lt; b &amp; &quot;c&quot;</title>');
    expect(element('g', { id: '"<' })).toBe('<g id="&quot;&lt;"/>');
  });

  it('has its own paper, and colours for light and for dark pages', () => {
    expect(picture(frame, [])).toMatch(
      /@media \(prefers-color-scheme:dark\)\{[^]*\.paper\{fill:#0d1117\}[^]*<rect class="paper"/,
    );
  });
});

describe('a chart of lines', () => {
  const svg = lineChart({
    title: 'Growth',
    description: 'How it grows.',
    xLabel: 'waiters',
    yLabel: 'cost',
    formatY: (value) => `${value} times`,
    panels: ['Node 20', 'Node 24'].map((title) => ({
      title,
      curves: [
        { name: 'flat', colour: 0, points: [1, 100, 10_000].map((x) => [x, 1] as const) },
        { name: 'steep', colour: 1, dashed: true, points: [1, 100, 10_000].map((x) => [x, x] as const) },
      ],
    })),
  });

  it('draws what stays the same as level, and what grows upwards', () => {
    const heights = numbers(svg, 'circle', 'cy').slice(0, 6);
    const [flat, steep] = [heights.slice(0, 3), heights.slice(3)] as [number[], number[]];

    expect(new Set(flat).size).toBe(1);
    expect(steep[0]).toBe(flat[0]);
    expect((steep[0] ?? 0) - (steep[1] ?? 0)).toBeCloseTo((steep[1] ?? 0) - (steep[2] ?? 0), 0);
    expect(Math.min(...steep)).toBeGreaterThan(0);
  });

  it('has a line through the points of each curve in each panel, dashed where it is beside the matter', () => {
    expect(svg.match(/<polyline points="\S+,\S+ \S+,\S+ \S+,\S+" class="line-0"/g)).toHaveLength(2);
    expect(svg.match(/<polyline points="[^"]+" class="line-1 dashed"/g)).toHaveLength(2);
  });

  it('names each curve once, however many panels show it', () => {
    expect(svg.match(/>steep</g)).toHaveLength(1);
    expect(svg).toContain('>Node 24<');
  });

  it('keeps everything within its frame', () => {
    const width = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);

    expect(Math.max(...numbers(svg, 'text', 'x'), ...numbers(svg, 'circle', 'cx'))).toBeLessThan(width);
  });
});

describe('a chart of bars', () => {
  const svg = barChart({
    title: 'Ratios',
    description: 'How they compare.',
    xLabel: 'times',
    series: ['Node 20', 'Node 24'],
    format: (value) => `${value} times`,
    groups: [
      {
        title: 'retry',
        bars: [
          { name: 'other', values: [10, 0.5] },
          { name: 'absent', values: [1, undefined] },
        ],
      },
    ],
  });
  const bars = numbers(svg, 'rect', 'width').slice(1);

  it('draws more than one to the right, less than one to the left, and nothing where nothing is known', () => {
    const one = Number(/<line x1="([^"]*)"[^>]* class="axis"/.exec(svg)?.[1]);
    const starts = numbers(svg, 'rect', 'x').slice(2);

    // Two of them are of the legend.
    expect(bars).toHaveLength(2 + 3);
    expect(starts[0]).toBe(one);
    expect(starts[1]).toBeLessThan(one);
  });

  it('says how much each is', () => {
    expect(svg).toContain('>0.5 times<');
  });
});
