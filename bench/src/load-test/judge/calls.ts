import type { MadeOutcome, SeenCall } from '../records.js';
import { RATE_LIMIT } from '../settings.js';
import { overrunMs } from './answers.js';
import type { Evidence, Story } from './evidence.js';
import type { Verdict } from './verdict.js';

/** What the dependency must have seen of a call. */
const SEEN_AS: Readonly<Record<MadeOutcome, readonly SeenCall['outcome'][]>> = {
  ok: ['answered'],
  failed: ['refused', 'reset', 'broken off'],
  'timed out': ['cut'],
  cancelled: ['cut'],
};

/** An answer and the end of a call may pass each other. */
const PASSING_MS = 25;

/** Each call ended for the dependency as it did for the application. */
export function sameCalls(evidence: Evidence): Verdict {
  const stories = [...evidence.stories.values()];
  const unsent = stories.filter(({ seen }) => seen === undefined);
  const wrong = stories.filter((story) => !agrees(evidence, story));
  const seen = stories.length - unsent.length;

  return {
    sentence: 'Each call that was made is one that the dependency saw, and ended there as it did here',
    findings: [
      ...wrong.map(
        ({ id, name, made, seen }) => `${name} ${id}: ${made ?? 'no end'} here, ${seen?.outcome ?? 'unseen'} there`,
      ),
      ...evidence.unknown().map(({ id, name }) => `${name} ${id}: nobody made it`),
    ],
    note: `${seen} calls seen; ${unsent.length} were cut before they were sent`,
  };
}

function agrees(evidence: Evidence, { made, seen, startAt, endAt }: Story): boolean {
  if (made === undefined) return false;
  const wasGivenUp = made === 'timed out' || made === 'cancelled';
  if (seen === undefined || SEEN_AS[made].includes(seen.outcome)) return seen !== undefined || wasGivenUp;

  // What has come while the event loop was held is read after the timers.
  const passingMs = PASSING_MS + evidence.heldMs(startAt, endAt + PASSING_MS);
  return wasGivenUp && seen.endedAt > endAt - passingMs;
}

interface Tally {
  readonly name: 'quotes' | 'orders' | 'prices';
  readonly source: string;
}

const TALLIES: readonly Tally[] = [
  { name: 'quotes', source: 'Routes.quotes' },
  { name: 'orders', source: 'Routes.orders' },
  { name: 'prices', source: 'Routes.prices' },
];

/** Of calls that were never made. */
export const REJECTIONS = ['circuit-rejected', 'bulkhead-rejected', 'rate-limited'];

/** Every attempt is a call of the dependency or a rejection that was told of. */
export function nothingLost(evidence: Evidence): Verdict {
  const findings = TALLIES.flatMap(({ name, source }) => {
    const answers = evidence.answers.filter(({ route }) => route === name);
    const attempts = answers.length + evidence.eventsOf('retry', source).length;
    const calls = evidence.storiesOf(name).length;
    const rejected = REJECTIONS.reduce((sum, type) => sum + evidence.eventsOf(type, source).length, 0);
    // On a machine that stands still a limit may end while a call waits for a slot or for its next attempt, which is
    // then neither: beside those limits that have cut a call.
    const limits =
      evidence.eventsOf('timeout', source).length + answers.filter((answer) => overrunMs(answer) >= 0).length;
    const waiting = limits - evidence.storiesOf(name).filter(({ made }) => made === 'timed out').length;
    const lost = attempts - calls - rejected;

    return lost < 0 || lost > Math.max(0, waiting)
      ? [`${name}: ${attempts} attempts, but ${calls} calls and ${rejected} rejections; ${waiting} ended before`]
      : [];
  });
  const rejected = evidence.events.filter(({ event }) => REJECTIONS.includes(event.type)).length;

  return {
    sentence: 'Every attempt is a call or a rejection, and what was rejected is no call',
    findings,
    note: `${rejected} rejections`,
  };
}

/** Timers are late by a little, and then calls lie closer together than their tokens. */
const RATE_SLACK = 2;

/** No more calls than the rate limit has tokens for. */
export function withinRate(evidence: Evidence): Verdict {
  const { limit, interval } = RATE_LIMIT;
  const calls = evidence.storiesOf('prices');
  let tokens: number = limit;
  let last = calls[0]?.startAt ?? 0;
  const findings: string[] = [];
  for (const { id, startAt } of calls) {
    tokens = Math.min(limit, tokens + ((startAt - last) * limit) / interval) - 1;
    last = startAt;
    const heldMs = evidence.starvedMs(startAt - interval, startAt);
    const least = -RATE_SLACK - (heldMs * limit) / interval;
    if (tokens < least) findings.push(`prices ${id}: ${(-tokens).toFixed(1)} more calls than tokens`);
  }

  return {
    sentence: `The dependency is never asked for prices more than ${limit} times and ${limit} more every ${interval} ms`,
    findings,
    note: `up to ${RATE_SLACK} calls early, where timers are late`,
  };
}

/** What stood in for an answer, or for a part of one, was told of. */
export function degradedAsTold(evidence: Evidence): Verdict {
  const fallbacks = evidence.eventsOf('fallback', 'Routes.prices').length;
  const replaced = evidence.answers.filter(({ route, kind }) => route === 'prices' && kind === 'degraded').length;
  const marks = evidence.answers.filter(({ route }) => route === 'page').flatMap(({ missing }) => missing).length;
  const missing = evidence.eventsOf('degraded').filter(({ event }) => event.section !== 'product').length;
  const failed = evidence.answers.filter(({ route, kind }) => route === 'page' && kind === 'failed').length;
  const required = evidence.eventsOf('degraded').filter(({ event }) => event.section === 'product').length;

  return {
    sentence: 'Each answer of a fallback, and each mark on a page, has its event',
    findings: [
      ...(fallbacks === replaced ? [] : [`${fallbacks} fallbacks, ${replaced} answers of one`]),
      ...(marks <= missing ? [] : [`${marks} marks on pages, ${missing} sections that were told of`]),
      ...(failed <= required ? [] : [`${failed} pages without their product, of which ${required} were told of`]),
    ],
    note: [
      `${replaced} answers of a fallback`,
      `${marks} marks on pages, and ${missing} events, for pages that failed have theirs as well`,
      `${failed} pages without their product, and ${required} events`,
    ].join('; '),
  };
}
