import type { Evidence, Story } from './evidence.js';

const MOST_LINES = 100;

/** What happened to one key, in the order of time, for whoever looks for the reason. Milliseconds. */
export function timelineOf(
  { asked, effects, acknowledged }: Story,
  { outages, stalls, lives }: Evidence,
): readonly string[] {
  const begin = Math.min(...asked.map(({ sentAt }) => sentAt));
  const end = Math.max(...asked.map(({ endedAt = 0 }) => endedAt));
  const from = (at: number): string => `${Math.round(at - begin)}`;
  const frozen = [...lives.values()].flatMap((life) => life.frozen.map((span) => ({ ...span, of: life.name })));
  const lines = [
    ...asked.map(({ sentAt, endedAt, charge, answer }) => ({
      at: sentAt,
      line: `asked for ${charge.amount} until ${from(endedAt ?? Infinity)}: ${JSON.stringify(answer)}`,
    })),
    ...effects.map(({ at, run, life }) => ({ at, line: `effect of ${life}, run ${run}` })),
    ...acknowledged.map(({ at, run }) => ({ at, line: `acknowledged: run ${run}` })),
    ...outages.map((span) => ({ at: span.from, line: `store disturbed until ${from(span.to)}: ${span.kind}` })),
    ...stalls.map((span) => ({ at: span.from, line: `${span.life} is kept waiting until ${from(span.to)}` })),
    ...frozen.map((span) => ({ at: span.from, line: `${span.of} stands still until ${from(span.to)}` })),
    ...[...lives.values()].map(({ name, killedAt = 0 }) => ({ at: killedAt, line: `${name} is killed` })),
  ];

  return lines
    .filter(({ at }) => at >= begin - 10_000 && at <= end)
    .toSorted((a, b) => a.at - b.at)
    .slice(0, MOST_LINES)
    .map(({ at, line }) => `${from(at).padStart(8)} ${line}`);
}
