import { fanOut, required } from 'holdfast';
import { settleAll } from '../floors/settle-all.js';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

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

/**
 * The cost of one section among so many, over that of one among `over`: both sides build as many sections in all.
 *
 * @param size A multiple of `over`, or a part of it.
 */
export function sectionAmong(size: number, over: number): Sides {
  const built = Math.max(size, over);
  const among = (count: number): Call => repeated(fanOutOf(count).ours, built / count);

  return { ours: among(size), other: among(over), bare: answerAtOnce, pendingMs: [TIMEOUT_MS] };
}

function repeated(call: Call, times: number): Call {
  return async () => {
    for (let time = 0; time < times; time++) await call();
  };
}
