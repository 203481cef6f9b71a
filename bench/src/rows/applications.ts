import { always, type Row } from '../row.js';

/** What the binding costs an application of Nest. */
export const NEST_ROWS: readonly Row[] = [
  {
    id: 'nest-undecorated',
    title: 'Nest in process, undecorated',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: always(1),
    sides: async () => (await import('../cases/nest-in-process.js')).undecoratedRoute(),
  },
  {
    id: 'nest-quotes',
    title: 'Nest in process, quotes',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: { node20: 3, node24: 2 },
    sides: async () => (await import('../cases/nest-in-process.js')).quotesRoute(),
  },
  {
    id: 'loopback-quotes',
    title: 'Nest over loopback, quotes',
    against: 'pass-through',
    measure: 'difference',
    hooks: 'on',
    target: { node20: 8, node24: 6 },
    overSockets: true,
    sides: async () => (await import('../cases/nest-loopback.js')).quotesOverLoopback(),
  },
  {
    id: 'promise-hooks',
    title: "tax of Node's promise hooks",
    against: 'hooks off',
    measure: 'difference',
    hooks: 'on-in-ours',
    overSockets: true,
    sides: async () => (await import('../cases/nest-loopback.js')).passThroughOverLoopback(),
  },
];

/** An example as a whole. */
export const PAGE_ROWS: readonly Row[] = [
  {
    id: 'home-under-load',
    title: 'page, p99, 200 in flight, one upstream hangs',
    against: 'its deadline',
    measure: 'lateness',
    hooks: 'on',
    target: always(25),
    sides: async () => (await import('../cases/home-under-load.js')).homeUnderLoad(),
  },
  {
    id: 'home-over-by-hand',
    title: 'the same, over the page by hand',
    against: 'by hand',
    measure: 'lateness',
    hooks: 'on',
    sides: async () => (await import('../cases/home-under-load.js')).homeOverByHand(),
  },
  {
    id: 'home-in-lockstep',
    title: 'the same, all 200 at one instant',
    against: 'its deadline',
    measure: 'lateness',
    hooks: 'on',
    sides: async () => (await import('../cases/home-under-load.js')).homeInLockstep(),
  },
];
