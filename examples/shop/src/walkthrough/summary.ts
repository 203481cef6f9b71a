import type { StepReport } from './walkthrough.js';

/** The closing lines: what went wrong, and what a busy machine may have to do with it. */
export function summary(reports: readonly Pick<StepReport, 'findings' | 'whenBusy'>[]): Verdict {
  const missedIn = (report: Pick<StepReport, 'findings'>): number => report.findings.filter(({ met }) => !met).length;
  const missed = reports.reduce((sum, report) => sum + missedIn(report), 0);
  if (missed === 0) return { good: true, text: 'Everything went as documented.' };

  const hints = new Set(reports.filter((report) => missedIn(report) > 0).map(({ whenBusy }) => whenBusy));
  const outcomes = missed === 1 ? 'One outcome was' : `${missed} outcomes were`;

  return {
    good: false,
    text: [`${outcomes} not as documented. On a busy machine, play it again:`, ...hints].join('\n'),
  };
}

interface Verdict {
  readonly good: boolean;
  readonly text: string;
}
