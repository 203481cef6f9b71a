import { fanOut, required } from 'holdfast';
import { settleAll } from '../floors/settle-all.js';
import { answerAtOnce, type Sides } from '../sides.js';

const TIMEOUT_MS = 2_000;

/** An answer from so many sections that have theirs at once, declared once and built over and over. */
export function fanOutOf(count: number): Sides {
  const keys = Array.from({ length: count }, (_, at) => `section-${at}`);
  const sections = Object.fromEntries(keys.map((key) => [key, required(answerAtOnce, { timeout: TIMEOUT_MS })]));
  const works = Object.fromEntries(keys.map((key) => [key, answerAtOnce]));

  return {
    ours: () => fanOut(sections),
    other: () => settleAll(works, TIMEOUT_MS),
    bare: answerAtOnce,
    pendingMs: [TIMEOUT_MS],
  };
}

const SMALL = 10;
const LARGE = 1_000;

/** The cost of one section among many, over that of one among few: both sides build as many sections in all. */
export function sectionAmongMany(): Sides {
  const large = fanOutOf(LARGE);
  const small = fanOutOf(SMALL);
  const ofMany = async (): Promise<void> => {
    for (let built = 0; built < LARGE; built += SMALL) await small.ours();
  };

  return { ...large, other: ofMany };
}
