import { logScale, type Scale } from './scale.js';
import { COLOUR_COUNT, element, label, picture } from './svg.js';

export interface Bar {
  readonly name: string;
  /** One for each series; `undefined` where there is none. */
  readonly values: readonly (number | undefined)[];
}

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

export interface BarChart {
  readonly title: string;
  readonly description: string;
  /** Above the bars: what their lengths are. */
  readonly xLabel: string;
  /** What the values of each bar are of. */
  readonly series: readonly string[];
  readonly groups: readonly BarGroup[];
  readonly format: (value: number) => string;
}

const LEFT = 190;
const WIDTH = 430;
const RIGHT = 90;
const TOP = 96;
const THICK = 12;
const BETWEEN_BARS = 6;
const BEFORE_GROUP = 28;

/** Bars to the right and to the left of one, over factors: half is as far as twice. */
export function barChart(chart: BarChart): string {
  const { groups, series, title, description } = chart;
  const rowHeight = series.length * THICK + BETWEEN_BARS;
  const height = TOP + groups.reduce((sum, { bars }) => sum + BEFORE_GROUP + bars.length * rowHeight, 0) + 24;
  const values = groups.flatMap(({ bars }) => bars.flatMap((bar) => bar.values.filter((value) => value !== undefined)));
  const x = logScale({ from: Math.min(0.5, ...values), to: Math.max(10, ...values), at: [LEFT, LEFT + WIDTH] });

  let y = TOP;
  const drawn = groups.map((group) => {
    const top = y + BEFORE_GROUP;
    y = top + group.bars.length * rowHeight;

    return element('g', {}, [
      label(group.title, { x: 16, y: top - 8 }),
      ...group.bars.map((bar, at) => barOf(bar, { y: top + at * rowHeight, x, format: chart.format })),
    ]);
  });

  return picture({ width: LEFT + WIDTH + RIGHT, height, title, description }, [
    label(chart.xLabel, { x: 16, y: 48 }, 'small'),
    ...series.map((name, at) => legendEntry(name, at)),
    ...x.ticks.flatMap((tick) => [
      element('line', { x1: x(tick), x2: x(tick), y1: TOP, y2: y + 4, class: tick === 1 ? 'axis' : 'grid' }),
      label(chart.format(tick), { x: x(tick), y: TOP - 6 }, 'small middle'),
    ]),
    ...drawn,
  ]);
}

interface Place {
  readonly x: Scale;
  readonly y: number;
  readonly format: (value: number) => string;
}

function barOf({ name, values }: Bar, { x, y, format }: Place): string {
  return element('g', {}, [
    label(name, { x: LEFT - 10, y: y + (values.length * THICK) / 2 + 4 }, 'small end'),
    ...values.flatMap((value, at) => {
      if (value === undefined) return [];

      const [from, to] = [x(1), x(value)].sort((a, b) => a - b) as [number, number];
      const top = y + at * THICK;

      return [
        element('rect', {
          x: from,
          y: top,
          width: Math.max(1, to - from),
          height: THICK - 1,
          class: `fill-${at % COLOUR_COUNT}`,
        }),
        label(format(value), { x: to + 4, y: top + THICK - 1 }, 'small'),
      ];
    }),
  ]);
}

function legendEntry(name: string, at: number): string {
  const x = 16 + at * 110;

  return element('g', {}, [
    element('rect', { x, y: 58, width: 12, height: 12, class: `fill-${at % COLOUR_COUNT}` }),
    label(name, { x: x + 18, y: 68 }),
  ]);
}
