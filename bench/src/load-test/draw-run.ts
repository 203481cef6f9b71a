import { linearScale, type Scale } from '../plot/scale.js';
import { element, label, picture, polyline } from '../plot/svg.js';
import { Eras, type State } from './judge/eras.js';
import { Evidence } from './judge/evidence.js';
import { TOLERANCE_MS } from './judge/answers.js';
import type { Answer, AnswerKind, RunRecord } from './records.js';
import { BREAKER_NAMES, ROUTES } from './settings.js';
import { quantile } from './table.js';

const WIDTH = 1_000;
const LEFT = 64;
const RIGHT = WIDTH - 20;
const ANSWERS = { top: 92, bottom: 272 };
const LATENCY = { top: 314, bottom: 424 };
const STRIPS = { top: 462, height: 12, step: 18 };
const BOTTOM = STRIPS.top + BREAKER_NAMES.length * STRIPS.step;
const HEIGHT = BOTTOM + 64;

const BUCKET_MS = 100;
const MOST_BUCKETS = 600;

/** Answers around a moment that its latency is taken from. */
const AROUND_MS = 500;

/** From the bottom up, with the colours of the plots. */
const KINDS: readonly (readonly [AnswerKind, string])[] = [
  ['whole', 'fill-0'],
  ['degraded', 'fill-4'],
  ['rejected', 'fill-5'],
  ['timed out', 'fill-1'],
  ['failed', 'fill-3'],
];

const STATES: Readonly<Record<State, string>> = { closed: 'fill-2', 'half-open': 'fill-4', open: 'fill-1' };

const OWN_STYLE =
  '.shade{fill:#57606a;opacity:.1}.bar{shape-rendering:crispEdges}.strong{font-weight:600}@media (prefers-color-scheme:dark){.shade{fill:#c9d1d9;opacity:.12}}';

/** The whole run over its time: what clients got, how late, and what the breakers did meanwhile. */
export function drawRun(record: RunRecord): string {
  const drawing = new Drawing(record);

  return picture(
    {
      width: WIDTH,
      height: HEIGHT,
      title: 'An application under load while its dependency changes',
      description:
        'Over time: answers by kind, their 99th percentile of latency, and the states of four circuit breakers, ' +
        'while the dependency is up, slow, hanging, failing and half-broken.',
    },
    [
      element('style', {}, [OWN_STYLE]),
      ...drawing.phases(),
      ...drawing.answers(),
      ...drawing.latency(),
      ...drawing.breakers(),
      ...drawing.time(),
    ],
  );
}

class Drawing {
  private readonly evidence: Evidence;
  private readonly begin: number;
  private readonly end: number;
  private readonly x: Scale;

  constructor(private readonly record: RunRecord) {
    const { phases } = record;
    this.evidence = new Evidence(record);
    this.begin = phases[0]?.from ?? 0;
    this.end = phases.at(-1)?.to ?? 0;
    this.x = linearScale({ from: 0, to: (this.end - this.begin) / 1_000, at: [LEFT, RIGHT] }, 12);
  }

  phases(): string[] {
    return this.record.phases.flatMap(({ condition, from, to }) => {
      const [left, right] = [this.at(from), this.at(to)];
      const shade = {
        x: left,
        y: ANSWERS.top - 26,
        width: right - left,
        height: BOTTOM - ANSWERS.top + 26,
        class: 'shade',
      };
      const isWide = right - left > condition.length * 6;

      return [
        ...(condition === 'up' ? [] : [element('rect', shade)]),
        ...(isWide ? [label(condition, { x: (left + right) / 2, y: ANSWERS.top - 10 }, 'label middle')] : []),
      ];
    });
  }

  answers(): string[] {
    const bucketMs = this.bucketMs();
    const buckets = new Map<number, Answer[]>();
    for (const answer of this.evidence.answers) {
      const bucket = Math.floor((answer.dueAt + answer.ms - this.begin) / bucketMs);
      buckets.set(bucket, [...(buckets.get(bucket) ?? []), answer]);
    }
    const most = Math.max(...[...buckets.values()].map(({ length }) => length));
    const y = linearScale({ from: 0, to: most, at: [ANSWERS.bottom, ANSWERS.top] }, 4);
    const width = Math.max(0.6, this.at(this.begin + bucketMs) - LEFT).toFixed(1);
    const bars = new Map(KINDS.map(([kind]) => [kind, '']));
    for (const [bucket, answers] of buckets) {
      const left = this.at(this.begin + bucket * bucketMs).toFixed(1);
      let below = 0;
      for (const [kind] of KINDS) {
        const count = answers.filter((answer) => answer.kind === kind).length;
        const [bottom, top] = [y(below), y(below + count)];
        below += count;
        const bar = `M${left} ${bottom.toFixed(1)}V${top.toFixed(1)}h${width}V${bottom.toFixed(1)}z`;
        if (count > 0) bars.set(kind, `${bars.get(kind)}${bar}`);
      }
    }

    return [
      ...axis(y, ANSWERS, (tick) => `${tick}`),
      ...KINDS.map(([kind, colour]) => element('path', { class: `${colour} bar`, d: bars.get(kind) ?? '' })),
      ...legend(
        `answers per ${bucketMs} ms`,
        KINDS.map(([kind, colour]) => [kind, 'rect', colour] as const),
        46,
      ),
    ];
  }

  latency(): string[] {
    const patience = Math.max(...Object.values(ROUTES).map(({ budgetMs }) => budgetMs));
    const times = this.evidence.answers.map(({ dueAt, ms }) => ({ at: dueAt + ms, ms }));
    const late = this.evidence.bare.map(({ dueAt, ms, lateMs }) => ({ at: dueAt + ms, ms: lateMs }));
    const p99 = this.curve(times, 0.99);
    const middle = this.curve(times, 0.5);
    const machine = this.curve(late, 0.99);
    const most = Math.max(patience + TOLERANCE_MS, ...p99.map(([, ms]) => ms));
    const y = linearScale({ from: 0, to: most, at: [LATENCY.bottom, LATENCY.top] }, 4);
    const draw = (points: readonly (readonly [number, number])[], colour: string): string =>
      polyline(
        points.map(([x, ms]) => [x, y(ms)] as const),
        { class: colour },
      );

    return [
      ...axis(y, LATENCY, (tick) => `${tick} ms`),
      element('line', { x1: LEFT, x2: RIGHT, y1: y(patience), y2: y(patience), class: 'axis dashed' }),
      label(`longest budget, ${patience} ms`, { x: RIGHT, y: y(patience) - 5 }, 'small end'),
      draw(machine, 'line-5 dashed'),
      draw(middle, 'line-0'),
      draw(p99, 'line-1'),
      ...legend(
        'latency',
        [
          ['99th percentile', 'line', 'line-1'],
          ['median', 'line', 'line-0'],
          ['what the bare route was late by, 99th percentile', 'line', 'line-5 dashed'],
        ],
        LATENCY.top - 18,
      ),
    ];
  }

  breakers(): string[] {
    const strips = BREAKER_NAMES.flatMap((name, nth) => {
      const y = STRIPS.top + nth * STRIPS.step;
      const eras = (['closed', 'open', 'half-open'] as const).flatMap((state) =>
        new Eras(this.evidence, name).of(state),
      );

      return [
        label(name, { x: LEFT - 8, y: y + 10 }, 'small end'),
        ...eras.map(({ state, from, to }) => {
          const [left, right] = [this.at(Math.max(from.at, this.begin)), this.at(to.at)];
          const width = Math.max(state === 'half-open' ? 1.5 : 0, right - left);
          return element('rect', { x: left, y, width, height: STRIPS.height, class: STATES[state] });
        }),
      ];
    });
    const states = Object.entries(STATES).map(([state, colour]) => [state, 'rect', colour] as const);

    return [...strips, ...legend('circuit breakers', states, STRIPS.top - 14)];
  }

  time(): string[] {
    return [
      ...this.x.ticks.map((tick) => label(`${tick}`, { x: this.x(tick), y: BOTTOM + 16 }, 'small middle')),
      label('seconds', { x: (LEFT + RIGHT) / 2, y: BOTTOM + 34 }, 'small middle'),
    ];
  }

  private at(moment: number): number {
    return this.x((moment - this.begin) / 1_000);
  }

  private bucketMs(): number {
    return Math.max(1, Math.ceil((this.end - this.begin) / BUCKET_MS / MOST_BUCKETS)) * BUCKET_MS;
  }

  /** The quantile of what lies around each moment, in places and milliseconds. */
  private curve(
    values: readonly { readonly at: number; readonly ms: number }[],
    share: number,
  ): readonly (readonly [x: number, ms: number])[] {
    const points: [number, number][] = [];
    const bucketMs = this.bucketMs();
    for (let moment = this.begin; moment < this.end; moment += bucketMs) {
      const aroundMs = Math.max(AROUND_MS, bucketMs) / 2;
      const near = values.filter(({ at }) => Math.abs(at - moment) <= aroundMs).map(({ ms }) => ms);
      near.sort((a, b) => a - b);
      if (near.length > 0) points.push([this.at(moment), quantile(near, share)]);
    }

    return points;
  }
}

interface Panel {
  readonly top: number;
  readonly bottom: number;
}

function axis(y: Scale, { bottom }: Panel, format: (tick: number) => string): string[] {
  return [
    ...y.ticks.flatMap((tick) => [
      element('line', { x1: LEFT, x2: RIGHT, y1: y(tick), y2: y(tick), class: 'grid' }),
      label(format(tick), { x: LEFT - 8, y: y(tick) + 4 }, 'small end'),
    ]),
    element('line', { x1: LEFT, x2: RIGHT, y1: bottom, y2: bottom, class: 'axis' }),
  ];
}

/** About as wide as a letter of these texts is. */
const LETTER = 6.4;
const STRONG_LETTER = 7.6;

function legend(
  heading: string,
  entries: readonly (readonly [text: string, mark: 'rect' | 'line', colour: string])[],
  y: number,
): string[] {
  let x = LEFT + (heading.length + 1.5) * STRONG_LETTER;
  const marks = entries.flatMap(([text, mark, colour]) => {
    const left = x;
    x += 22 + (text.length + 2) * LETTER;
    const drawn =
      mark === 'rect'
        ? element('rect', { x: left, y: y - 9, width: 12, height: 10, class: colour })
        : element('line', { x1: left, x2: left + 16, y1: y - 4, y2: y - 4, class: colour });

    return [drawn, label(text, { x: left + 20, y })];
  });

  return [label(heading, { x: LEFT, y }, 'strong'), ...marks];
}
