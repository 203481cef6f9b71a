import { layOut } from '../columns.js';
import { greatest, overrunMs } from './judge/answers.js';
import { REJECTIONS } from './judge/calls.js';
import type { AnswerKind, PhaseRecord } from './records.js';

export const HEADINGS = [
  'dependency',
  'breaker of quotes',
  'requests',
  'whole',
  'degraded',
  'rejected',
  'timed out',
  'failed',
  'p50',
  'p99',
  'max',
  'over budget',
  'bare late',
  'calls seen',
  'answered',
  'failed there',
  'cut',
  'never made',
] as const;

const LEFT = 2;

/** One row for each phase: what clients got, how late, and what the dependency saw of it. */
export function rowsOf(phases: readonly PhaseRecord[]): readonly (readonly string[])[] {
  return phases.map((phase) => {
    const { condition, answers, bare, seen, entries } = phase;
    const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
    const count = (kind: AnswerKind): string => `${answers.filter((answer) => answer.kind === kind).length}`;
    const events = entries.flatMap((entry) => (entry.kind === 'event' ? [entry.event] : []));
    const answered = seen.filter(({ outcome }) => outcome === 'answered').length;
    const cut = seen.filter(({ outcome }) => outcome === 'cut').length;

    return [
      condition,
      statesOf(phase),
      `${answers.length}`,
      ...(['whole', 'degraded', 'rejected', 'timed out', 'failed'] as const).map(count),
      ...[quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1)].map((ms) => `${Math.round(ms)}`),
      `${Math.round(greatest(answers.map(overrunMs)))}`,
      `${Math.round(greatest(bare.map(({ lateMs }) => lateMs)))}`,
      `${seen.length}`,
      `${answered}`,
      `${seen.length - answered - cut}`,
      `${cut}`,
      `${events.filter(({ type }) => REJECTIONS.includes(type)).length}`,
    ];
  });
}

export function renderTable(phases: readonly PhaseRecord[]): string {
  return layOut([HEADINGS, ...rowsOf(phases)], LEFT);
}

/** The smallest of sorted figures that so many of them do not exceed. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** How the breaker of the quotes ended, and how often it opened. */
function statesOf({ entries }: PhaseRecord): string {
  const changes = entries.flatMap((entry) =>
    entry.kind === 'event' && entry.event.policy === 'quotes' && entry.event.stats !== undefined
      ? [entry.event.type]
      : [],
  );
  const opened = changes.filter((type) => type === 'circuit-open').length;
  const last = changes.at(-1)?.replace('circuit-', '');
  if (last === undefined) return 'no change';

  return opened === 0 ? last : `${last}, opened ${opened} x`;
}
