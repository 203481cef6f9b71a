import type { RunRecord } from '../records.js';
import { handlesBack, memoryBack, noComplaints } from './afterwards.js';
import { answered, inTime } from './answers.js';
import { nothingWhileOpen, opensAsDocumented, probesAsDocumented, statsAsSeen } from './breakers.js';
import { fullWhenItSaysSo, neverMoreThanTheLimit, slotsGivenBack } from './bulkheads.js';
import { degradedAsTold, nothingLost, sameCalls, withinRate } from './calls.js';
import { Evidence } from './evidence.js';
import type { Verdict } from './verdict.js';

const CHECKS: readonly ((evidence: Evidence) => Verdict)[] = [
  answered,
  inTime,
  sameCalls,
  nothingLost,
  statsAsSeen,
  opensAsDocumented,
  nothingWhileOpen,
  probesAsDocumented,
  neverMoreThanTheLimit,
  fullWhenItSaysSo,
  slotsGivenBack,
  withinRate,
  degradedAsTold,
  memoryBack,
  handlesBack,
  noComplaints,
];

/** Everything that a run must show. */
export function judge(record: RunRecord): readonly Verdict[] {
  const evidence = new Evidence(record);

  return CHECKS.map((check) => check(evidence));
}
