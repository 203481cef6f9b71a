import type { Answer } from '../records.js';
import { ROUTES } from '../settings.js';
import type { Evidence } from './evidence.js';
import type { Verdict } from './verdict.js';

/** How much later than its budget an answer may be. */
export const TOLERANCE_MS = 50;

/** The bare application is asked how late the machine was at about that time. */
const ABOUT_MS = 250;

export function answered({ answers }: Evidence): Verdict {
  const bad = answers.filter(({ kind }) => kind === 'none' || kind === 'unexpected');

  return {
    sentence: 'Every request has an answer, of a documented status',
    findings: bad.map(({ route, ms, told }) => `${route} after ${ms.toFixed(0)} ms: ${told}`),
    note: `${answers.length} requests`,
  };
}

/** How much later than its budget; below 0 when it was in time. */
export function overrunMs({ route, ms }: Answer): number {
  return ms - ROUTES[route].budgetMs;
}

/**
 * What is late is ours to answer for, but for what the machine was late by: what the bare application was, with the same
 * load at about that time, and for how long the process of the application wanted a processor and had none.
 */
export function inTime(evidence: Evidence): Verdict {
  const { answers, bare } = evidence;
  const late = answers.filter((answer) => overrunMs(answer) > TOLERANCE_MS);
  const ours = late.filter((answer) => overrunMs(answer) - machineLateMs(evidence, answer) > TOLERANCE_MS);
  const worst = greatest(answers.map(overrunMs));
  const worstBare = greatest(bare.map(({ lateMs }) => lateMs));

  return {
    sentence: `No answer is later than its budget and ${TOLERANCE_MS} ms`,
    findings: ours.map(
      (answer) =>
        `${answer.route} after ${answer.ms.toFixed(0)} ms, ${overrunMs(answer).toFixed(0)} ms over its budget; ` +
        `the machine was late by ${machineLateMs(evidence, answer).toFixed(0)} ms`,
    ),
    note: `the latest by ${worst.toFixed(1)} ms, the bare route by ${worstBare.toFixed(1)} ms`,
    excused: late.length - ours.length,
  };
}

function machineLateMs(evidence: Evidence, { dueAt, ms }: Answer): number {
  const endAt = dueAt + ms;
  const about = evidence.bare.filter((bare) => Math.abs(bare.dueAt + bare.ms - endAt) <= ABOUT_MS);
  const bareLateMs = Math.max(0, ...about.map(({ lateMs }) => lateMs));

  return bareLateMs + evidence.machineLateMs(dueAt, endAt);
}

/** Of more figures than a call can have arguments. */
export function greatest(figures: readonly number[]): number {
  return figures.reduce((most, figure) => Math.max(most, figure), -Infinity);
}
