import { BULKHEAD_NAMES, BULKHEADS } from '../settings.js';
import type { Evidence } from './evidence.js';
import type { Verdict } from './verdict.js';

/** How far the two processes may be apart about when a call began and ended. */
const APART_MS = 15;

/** The one whose handler does not listen to its signal: its slots are given back while it runs on. */
const ABANDONING = 'reports';

/** As the dependency saw it. */
export function neverMoreThanTheLimit(evidence: Evidence): Verdict {
  const kept = BULKHEAD_NAMES.filter((name) => name !== ABANDONING);
  const peaks = kept.map((name) => {
    const seen = evidence.storiesOf(name).map((story) => story.seen?.concurrent ?? 0);
    return {
      name,
      peak: Math.max(0, ...seen),
      over: seen.filter((count) => count > BULKHEADS[name].maxConcurrent).length,
    };
  });

  return {
    sentence: 'Never do more calls run at the dependency than the bulkhead has slots',
    findings: peaks
      .filter(({ over }) => over > 0)
      .map(
        ({ name, peak, over }) =>
          `${name}: up to ${peak} at once, ${over} times above ${BULKHEADS[name].maxConcurrent}`,
      ),
    note: peaks.map(({ name, peak }) => `${name} ${peak} of ${BULKHEADS[name].maxConcurrent}`).join(', '),
  };
}

/** When a call was refused since the bulkhead was full, as many ran at the dependency as it has slots. */
export function fullWhenItSaysSo(evidence: Evidence): Verdict {
  const findings: string[] = [];
  let full = 0;
  for (const name of BULKHEAD_NAMES) {
    const { maxConcurrent, maxQueue } = BULKHEADS[name];
    const stories = evidence.storiesOf(name);
    for (const { at, event } of evidence.eventsOf('bulkhead-rejected', name)) {
      if (event.reason !== 'full') continue;

      full += 1;
      const apartMs = APART_MS + evidence.starvedMs(at - APART_MS, at + APART_MS);
      const running = stories.filter(
        ({ startAt, endAt, seen }) => startAt <= at + apartMs && Math.max(endAt, seen?.endedAt ?? 0) >= at - apartMs,
      ).length;
      if (event.active !== maxConcurrent || event.queued !== maxQueue || running < maxConcurrent) {
        findings.push(
          `${name}: full with ${event.active} active and ${event.queued} waiting, while ${running} calls ran`,
        );
      }
    }
  }

  return {
    sentence: 'A bulkhead that is full has all of its slots at work at the dependency',
    findings,
    note: `${full} times`,
  };
}

/** When nothing runs, no slot is taken; and what was abandoned is what the dependency still holds. */
export function slotsGivenBack({ record }: Evidence): Verdict {
  const findings = record.phases.flatMap(({ condition, entries, held }) =>
    entries.flatMap((entry) => {
      if (entry.kind !== 'rest') return [];

      return BULKHEAD_NAMES.flatMap((name) => {
        const { active, queued, abandoned } = entry.figures.bulkheads[name];
        const expected = name === ABANDONING ? held : 0;
        return active === 0 && queued === 0 && abandoned === expected
          ? []
          : [
              `${name} after "${condition}": ${active} active, ${queued} waiting, ${abandoned} of ${expected} abandoned`,
            ];
      });
    }),
  );
  const most = Math.max(...record.phases.map(({ held }) => held));

  return {
    sentence:
      'At rest every slot has been given back, and the abandoned calls are those that the dependency still holds',
    findings,
    note: `up to ${most} abandoned`,
  };
}
