/** A part of the story: what the servers do, for how long. */
export interface Scene {
  readonly title: string;
  readonly watch: string;
  readonly seconds: number;
  /** How long the servers take, in milliseconds, at a point of the scene from 0 to 1. */
  readonly delayMs: (progress: number) => number;
  /** The second server accepts requests and answers none. */
  readonly secondIsStuck?: true;
}

const GOOD_MS = 40;
const SLOW_MS = 200;
const good = (): number => GOOD_MS;

export const SCRIPT: readonly Scene[] = [
  {
    title: `Both servers answer after ${GOOD_MS} ms.`,
    watch: 'After ten calls the limit leaves its first value. It is about twice the slowest of the recent calls.',
    seconds: 4,
    delayMs: good,
  },
  {
    title: `A step: both take ${SLOW_MS} ms.`,
    watch: 'A call or two is cut. Each cut doubles the limit, until it is above what calls take now.',
    seconds: 4,
    delayMs: () => SLOW_MS,
  },
  {
    title: `A drift: from ${SLOW_MS} back to ${GOOD_MS} ms, little by little.`,
    watch: 'The limit follows some calls behind, and cuts nobody.',
    seconds: 6,
    delayMs: (progress) => SLOW_MS + (GOOD_MS - SLOW_MS) * progress,
  },
  {
    title: 'The second server is stuck: it accepts requests and answers none.',
    watch: 'Calls that meet it are cut and get the answer of the first one. A cut may be slowness: the limit climbs.',
    seconds: 5,
    delayMs: good,
    secondIsStuck: true,
  },
  {
    title: 'The second server answers again.',
    watch: 'The limit comes back as the cuts fade.',
    seconds: 5,
    delayMs: good,
  },
];
