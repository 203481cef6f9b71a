import { BREAKER_NAMES, BREAKERS, BULKHEADS, RATE_LIMIT, type BreakerName } from '../settings.js';
import { Eras, type Era } from './eras.js';
import type { Evidence, Story } from './evidence.js';
import type { Verdict } from './verdict.js';

/** What was admitted just before a change may begin just after it. */
const GAP_MS = 5;

const isFailure = ({ made }: Story): boolean => made === 'failed' || made === 'timed out';

/** `total` and `failures` are what the dependency has answered, failed and let hang since the breaker was closed. */
export function statsAsSeen(evidence: Evidence): Verdict {
  const looks = BREAKER_NAMES.flatMap((name) => new Eras(evidence, name).looks());
  const findings = looks.flatMap(({ name, when, stats, least, most }) => {
    const isWithin =
      least.total <= stats.total &&
      stats.total <= most.total &&
      least.failures <= stats.failures &&
      stats.failures <= most.failures;
    const range = (low: number, high: number): string => (low === high ? `${low}` : `${low} to ${high}`);

    return isWithin
      ? []
      : [
          `${name} ${when}: ${stats.failures} of ${stats.total} failed, the calls say ` +
            `${range(least.failures, most.failures)} of ${range(least.total, most.total)}`,
        ];
  });
  const exact = looks.filter(({ least, most }) => least.total === most.total && least.failures === most.failures);

  return {
    sentence: 'What a breaker has counted is what the dependency has done',
    findings,
    note: `${looks.length} looks, ${exact.length} of them with one possible figure`,
  };
}

/** It opens when its options say so, and not before. */
export function opensAsDocumented(evidence: Evidence): Verdict {
  const findings: string[] = [];
  let openings = 0;
  for (const name of BREAKER_NAMES) {
    const { minimumCalls, failureRateThreshold } = BREAKERS[name];
    for (const { when, stats, isOpening } of new Eras(evidence, name).looks()) {
      const isDue = stats.total >= minimumCalls && (stats.failures * 100) / stats.total >= failureRateThreshold;
      if (isOpening) openings += 1;
      if (isDue !== isOpening) {
        findings.push(
          `${name} ${when}: ${isOpening ? 'opened' : 'closed'} with ${stats.failures} of ${stats.total} failed`,
        );
      }
    }
  }

  return {
    sentence: 'A breaker is open when its threshold was reached, and only then',
    findings,
    note: `opened ${openings} times`,
  };
}

/** While it is open nothing comes to the dependency, but what was admitted before and had to wait. */
export function nothingWhileOpen(evidence: Evidence): Verdict {
  const findings: string[] = [];
  let openMs = 0;
  for (const name of BREAKER_NAMES) {
    const graceMs = longestWait(name) + GAP_MS;
    for (const era of new Eras(evidence, name).of('open')) {
      openMs += era.to.at - era.from.at;
      const starvedMs = evidence.starvedMs(era.from.at, era.from.at + graceMs);
      const late = startedIn(evidence, name, era).filter(({ startAt }) => startAt > era.from.at + graceMs + starvedMs);
      findings.push(
        ...late.map(({ id, startAt }) => `${name} ${id}: ${(startAt - era.from.at).toFixed(0)} ms after it opened`),
      );
    }
  }

  return {
    sentence: 'While a breaker is open the dependency is left alone',
    findings,
    note: `${(openMs / 1_000).toFixed(1)} s open in all`,
  };
}

/** Half-open, as many probes run as its options say, and their outcomes decide. */
export function probesAsDocumented(evidence: Evidence): Verdict {
  const findings: string[] = [];
  let periods = 0;
  for (const name of BREAKER_NAMES) {
    const { halfOpenMaxCalls, failureRateThreshold } = BREAKERS[name];
    const failuresToOpen = Math.ceil((halfOpenMaxCalls * failureRateThreshold) / 100);
    for (const era of new Eras(evidence, name).of('half-open')) {
      periods += 1;
      const probes = startedIn(evidence, name, era);
      const unsure = probes.filter((probe) => isUnsure(evidence, probe) || probe.made === 'cancelled').length;
      const failed = probes.filter(isFailure).length;
      const good = probes.filter(({ made }) => made === 'ok').length;
      if (probes.length > halfOpenMaxCalls + unsure) {
        findings.push(`${name}: ${probes.length} probes, ${halfOpenMaxCalls} at most`);
      }
      const { to } = era;
      const isRight =
        to.state === 'open'
          ? failed >= failuresToOpen
          : to.state !== 'closed' || good > halfOpenMaxCalls - failuresToOpen;
      if (!isRight) findings.push(`${name}: ${to.state} after ${failed} failed and ${good} good probes`);
    }
  }

  return {
    sentence: 'Half-open, a breaker lets its probes through, no more, and does what they say',
    findings,
    note: `${periods} periods`,
  };
}

/** Of calls under this breaker, those that began in this era. */
function startedIn(evidence: Evidence, name: BreakerName, { from, to }: Era): readonly Story[] {
  return evidence.storiesOf(name).filter(({ startPlace }) => startPlace > from.place && startPlace < to.place);
}

function longestWait(name: BreakerName): number {
  const { queueTimeout } = (BULKHEADS as Partial<Record<string, { queueTimeout: number }>>)[name] ?? {
    queueTimeout: 0,
  };

  return name === 'prices' ? RATE_LIMIT.maxWait : queueTimeout;
}

/** A timer that was late since the event loop was held says nothing about the dependency. */
function isUnsure(evidence: Evidence, { made, startAt, endAt }: Story): boolean {
  return made === 'timed out' && evidence.isStalled(startAt, endAt + GAP_MS);
}
