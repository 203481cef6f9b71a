import type { Queue, Step } from '../cases/waiters.js';
import { always, type Growth, type Row, type Target } from '../row.js';
import type { Sides } from '../sides.js';

interface Series {
  readonly id: string;
  /** What is done, as the series is called in a table. */
  readonly of: string;
  readonly sizes: readonly number[];
  readonly over: number;
  /** What the sizes count, such as "waiters". */
  readonly unit: string;
  readonly hooks?: Row['hooks'];
  /** For all sizes above `over`. Missing where a series only informs. */
  readonly target?: Target;
  readonly uncollected?: true;
  readonly sides: (size: number, over: number) => Promise<Sides>;
}

const number = new Intl.NumberFormat('en');

/** A row for each size, and what is done among so many is compared with the same among few. */
function rowsOf({ id, of, sizes, over, unit, hooks = 'off', target, uncollected, sides }: Series): readonly Row[] {
  return sizes.map((size): Row => {
    const growth: Growth = { of, size, over };

    return {
      id: `${id}-${size}`,
      title: `${of}, ${number.format(size)} ${unit}`,
      against: `among ${number.format(over)}`,
      measure: 'ratio',
      hooks,
      ...(target === undefined || size < over ? {} : { target }),
      brief: true,
      ...(uncollected === undefined ? {} : { uncollected }),
      growth,
      sides: () => sides(size, over),
    };
  });
}

const WAITERS = [100, 10_000, 100_000];

const STEPS: Readonly<Record<Step, string>> = {
  'leave-newest': 'join, leave at once',
  'leave-any': 'join, leave from anywhere',
  grant: 'join, be granted',
};

/** `uncollected`: what is left is what the queue itself does. */
function waiters(
  queue: Queue,
  step: Step,
  { target, uncollected }: Pick<Series, 'target' | 'uncollected'> = {},
): readonly Row[] {
  const what = uncollected === true ? `${STEPS[step]}, nothing collected` : STEPS[step];
  const id = queue === 'holdfast' ? `waiters-${step}` : `waiters-${queue.replace(' ', '-')}-${step}`;

  return rowsOf({
    id: uncollected === true ? `${id}-uncollected` : id,
    of: queue === 'holdfast' ? what : `${what} (${queue})`,
    sizes: WAITERS,
    over: 1,
    unit: 'waiters',
    ...(target === undefined ? {} : { target }),
    ...(uncollected === undefined ? {} : { uncollected }),
    sides: async (size) => (await import('../cases/waiters.js')).stepAmongWaiters(queue, step, size),
  });
}

const queues: readonly Row[] = [
  ...waiters('holdfast', 'leave-newest', { target: always(1.15) }),
  ...waiters('holdfast', 'leave-any', { target: always(3) }),
  ...waiters('holdfast', 'grant', { target: always(3) }),
  ...waiters('holdfast', 'grant', { uncollected: true, target: always(1.75) }),
  ...waiters('by hand', 'leave-any'),
  ...waiters('by hand', 'grant'),
  ...waiters('by hand', 'grant', { uncollected: true }),
  ...waiters('cockatiel', 'grant'),
  ...waiters('p-queue', 'grant'),
];

const windows: readonly Row[] = [
  ...rowsOf({
    id: 'count-window',
    of: 'record and read, window of calls',
    sizes: [100, 1_000, 100_000],
    over: 20,
    unit: 'calls',
    target: always(1.15),
    sides: async (size, over) => (await import('../cases/windows.js')).countWindow(size, over),
  }),
  ...rowsOf({
    id: 'time-window',
    of: 'record and read, window of time',
    sizes: [100, 1_000, 100_000],
    over: 20,
    unit: 'calls',
    target: always(1.15),
    sides: async (size, over) => (await import('../cases/windows.js')).timeWindow(size, over),
  }),
];

const crowds: readonly Row[] = [
  ...rowsOf({
    id: 'breakers',
    of: 'call under breakers in turn',
    sizes: [100, 10_000],
    over: 1,
    unit: 'breakers',
    target: always(3),
    sides: async (size) => (await import('../cases/crowds.js')).oneOfBreakers(size),
  }),
  ...rowsOf({
    id: 'breakers-by-hand',
    of: 'call under breakers in turn (by hand)',
    sizes: [100, 10_000],
    over: 1,
    unit: 'objects',
    sides: async (size) => (await import('../cases/crowds.js')).oneOfObjects(size),
  }),
  ...rowsOf({
    id: 'names',
    of: 'look-up of a breaker by name',
    sizes: [100, 10_000],
    over: 1,
    unit: 'names',
    target: always(4),
    sides: async (size) => (await import('../cases/crowds.js')).namesAmong(size),
  }),
  ...rowsOf({
    id: 'names-by-hand',
    of: 'look-up of a breaker by name (by hand)',
    sizes: [100, 10_000],
    over: 1,
    unit: 'names',
    sides: async (size) => (await import('../cases/crowds.js')).keysAmong(size),
  }),
  ...rowsOf({
    id: 'pending',
    of: 'call under a timeout',
    sizes: [100, 10_000, 100_000],
    over: 1,
    unit: 'pending',
    hooks: 'on',
    target: always(1.15),
    sides: async (size) => (await import('../cases/crowds.js')).amongPending(size),
  }),
  ...rowsOf({
    id: 'wrap',
    of: 'a policy of a wrapped call',
    sizes: [2, 5, 10],
    over: 1,
    unit: 'policies',
    hooks: 'on',
    target: always(1),
    sides: async (size) => (await import('../cases/crowds.js')).wrapOf(size),
  }),
];

/** Ours over allSettled() by hand: how many sections there are changes nothing about the target. */
const fanOuts: readonly Row[] = [3, 10, 50, 1_000].map((count): Row => ({
  id: `fan-out-${count}`,
  title: `fanOut() of ${count}`,
  against: 'by hand',
  measure: 'ratio',
  hooks: 'on',
  target: always(1.5),
  sides: async () => (await import('../cases/fan-out.js')).fanOutOf(count),
}));

const sections: readonly Row[] = [
  ...fanOuts,
  ...rowsOf({
    id: 'fan-out-growth',
    of: 'a section',
    sizes: [1, 100, 1_000],
    over: 10,
    unit: 'in one answer',
    hooks: 'on',
    target: always(1.15),
    sides: async (size, over) => (await import('../cases/fan-out.js')).sectionAmong(size, over),
  }),
];

export const SECTION_ROWS: readonly Row[] = sections;
export const GROWTH_ROWS: readonly Row[] = [...queues, ...windows, ...crowds];
