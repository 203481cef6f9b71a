import { barChart } from '../plot/bar-chart.js';
import { lineChart, type Curve } from '../plot/line-chart.js';
import type { Row } from '../row.js';
import type { Group } from '../rows.js';
import { comparedRows, growthSeries } from './pivots.js';
import type { Results } from './results.js';

const times = (value: number): string => `${Number(value.toPrecision(2))}×`;

interface Growing {
  readonly title: string;
  readonly xLabel: string;
  /** Which series it shows; those beside the matter are dashed. */
  readonly shows: (of: string) => boolean;
}

const isOfQueues = (of: string): boolean => of.startsWith('join');

/** The file of each plot, by its name. */
export function plotsOf(all: readonly Results[], groups: readonly Group[]): Readonly<Record<string, string>> {
  return {
    'ratios.svg': ratioBars(all, groups),
    'growth-waiters.svg': growthLines(all, groups, {
      title: 'A step in a queue, as the queue grows',
      xLabel: 'calls that wait',
      shows: isOfQueues,
    }),
    'growth-sets.svg': growthLines(all, groups, {
      title: 'One call, look-up or section, as there are more of them',
      xLabel: 'how many there are',
      shows: (of) => !isOfQueues(of),
    }),
  };
}

function growthLines(all: readonly Results[], groups: readonly Group[], { title, xLabel, shows }: Growing): string {
  const series = [...growthSeries(groups)].filter(([of]) => shows(of));
  const colours = [...new Set(series.map(([of]) => asOurs(of)))];

  return lineChart({
    title,
    description: `${title}: what it costs among many over what it costs among few, for each version of Node.`,
    xLabel,
    yLabel: 'cost over the cost among few, both axes by factors',
    formatY: times,
    panels: all.map(({ major, rows }) => ({
      title: `Node ${major}`,
      curves: series.map(([of, members]): Curve => ({
        name: of,
        colour: colours.indexOf(asOurs(of)),
        // In brackets is whose it is when it is not ours.
        dashed: of.endsWith(')'),
        points: pointsOf(members, rows),
      })),
    })),
  });
}

/** What is done by hand has the colour of what it is a control for. */
function asOurs(of: string): string {
  return of.replace(' (by hand)', '');
}

function pointsOf(members: readonly Row[], rows: Results['rows']): readonly (readonly [number, number])[] {
  const over = members[0]?.growth?.over ?? 1;
  const measured = members.flatMap(({ id, growth }) => {
    const result = rows.get(id);

    return result === undefined || growth === undefined ? [] : [[growth.size, result.value] as const];
  });

  return [[over, 1] as const, ...measured].sort(([a], [b]) => a - b);
}

function ratioBars(all: readonly Results[], groups: readonly Group[]): string {
  const title = 'How many times as long as ours a call under a policy takes';

  return barChart({
    title,
    description: `${title}: each library that has such a policy, and code by hand, for each version of Node.`,
    xLabel: 'to the right of 1×: ours is faster; by factors',
    series: all.map(({ major }) => `Node ${major}`),
    format: times,
    groups: [...comparedRows(groups)].map(([policy, others]) => ({
      title: policy,
      bars: [...others].map(([name, { id }]) => ({
        name,
        values: all.map(({ rows }) => inverse(rows.get(id)?.value)),
      })),
    })),
  });
}

function inverse(value: number | undefined): number | undefined {
  return value === undefined ? undefined : 1 / value;
}
