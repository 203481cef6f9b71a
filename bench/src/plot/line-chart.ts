import { logScale, type Scale } from './scale.js';
import { COLOUR_COUNT, element, label, picture, polyline } from './svg.js';

export interface Curve {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly colour: number;
  /** For what is beside the matter: a control, or somebody else's. */
  readonly dashed?: boolean;
}

export interface Panel {
  readonly title: string;
  readonly curves: readonly Curve[];
}

export interface LineChart {
  readonly title: string;
  readonly description: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Beside each other, on the same scales; their curves of one name have one entry in the legend. */
  readonly panels: readonly Panel[];
  readonly formatY: (value: number) => string;
}

const PANEL = { width: 330, height: 260, left: 64, top: 84, gap: 48 };
const LEGEND_LINE = 18;
const number = new Intl.NumberFormat('en');

/** Curves over factors, both ways: twice as much is as far everywhere. */
export function lineChart(chart: LineChart): string {
  const { panels, title, description } = chart;
  const points = panels.flatMap(({ curves }) => curves.flatMap((curve) => curve.points));
  const legend = [...new Map(panels.flatMap(({ curves }) => curves.map((curve) => [curve.name, curve]))).values()];
  const bottom = PANEL.top + PANEL.height;
  const width = PANEL.left + panels.length * (PANEL.width + PANEL.gap);
  const height = bottom + 56 + Math.ceil(legend.length / 2) * LEGEND_LINE + 12;
  const ys = points.map(([, y]) => y);
  const y = logScale({
    // Never so near that noise looks like growth.
    from: Math.min(0.5, ...ys),
    to: Math.max(3, ...ys) * 1.1,
    at: [bottom, PANEL.top],
  });

  return picture({ width, height, title, description }, [
    label(chart.yLabel, { x: 16, y: 46 }, 'small'),
    ...panels.map((panel, at) => {
      const left = PANEL.left + at * (PANEL.width + PANEL.gap);
      const xs = points.map(([x]) => x);
      const x = logScale({ from: Math.min(...xs), to: Math.max(...xs), at: [left, left + PANEL.width] });

      return panelOf(panel, chart, { x, y });
    }),
    ...legend.map((curve, at) => legendEntry(curve, at, { y: bottom + 62, width })),
  ]);
}

function panelOf({ title, curves }: Panel, { xLabel, formatY }: LineChart, scales: { x: Scale; y: Scale }): string {
  const { x, y } = scales;
  const left = x(x.ticks[0] ?? 1);
  const right = left + PANEL.width;
  const bottom = PANEL.top + PANEL.height;

  return element('g', {}, [
    label(title, { x: (left + right) / 2, y: PANEL.top - 8 }, 'label middle'),
    ...y.ticks.flatMap((tick) => [
      element('line', { x1: left, x2: right, y1: y(tick), y2: y(tick), class: 'grid' }),
      label(formatY(tick), { x: left - 8, y: y(tick) + 4 }, 'small end'),
    ]),
    ...x.ticks.map((tick) => label(number.format(tick), { x: x(tick), y: bottom + 18 }, 'small middle')),
    element('line', { x1: left, x2: right, y1: bottom, y2: bottom, class: 'axis' }),
    label(xLabel, { x: (left + right) / 2, y: bottom + 36 }, 'small middle'),
    ...curves.map((curve) => curveOf(curve, x, y)),
  ]);
}

function classOf({ colour, dashed = false }: Curve): string {
  return `line-${colour % COLOUR_COUNT}${dashed ? ' dashed' : ''}`;
}

function curveOf(curve: Curve, x: Scale, y: Scale): string {
  const places = curve.points.map(([a, b]) => [x(a), y(b)] as const);

  return element('g', {}, [
    polyline(places, { class: classOf(curve) }),
    ...places.map(([cx, cy]) => element('circle', { cx, cy, r: 3, class: `fill-${curve.colour % COLOUR_COUNT}` })),
  ]);
}

function legendEntry(curve: Curve, at: number, { y, width }: { readonly y: number; readonly width: number }): string {
  const left = 24 + (at % 2) * (width / 2);
  const middle = y + Math.floor(at / 2) * LEGEND_LINE;

  return element('g', {}, [
    element('line', { x1: left, x2: left + 28, y1: middle - 4, y2: middle - 4, class: classOf(curve) }),
    label(curve.name, { x: left + 36, y: middle }),
  ]);
}
