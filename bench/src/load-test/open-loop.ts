import { setTimeout as delay } from 'node:timers/promises';
import { ask, overKeptConnections, type Answered } from '../load/clients.js';
import { moment } from './moment.js';
import type { Answer, AnswerKind, BareAnswer } from './records.js';
import { ROUTE_NAMES, ROUTES, type RouteName } from './settings.js';

export interface Arrival {
  readonly route: RouteName;
  /** Since the beginning of its phase. */
  readonly atMs: number;
}

export interface Servers {
  readonly application: string;
  readonly bare: string;
}

export interface Asked {
  readonly answers: readonly Answer[];
  readonly bare: readonly BareAnswer[];
}

/** Much longer than any budget, also on a machine that has no time for any of this. */
const PATIENCE_MS = 20_000;

/** Requests that know nothing of each other: the times between them are drawn, and are as often short as they are. */
export function arrivalsOf(ms: number, random: () => number): readonly Arrival[] {
  return ROUTE_NAMES.flatMap((route) => {
    const arrivals: Arrival[] = [];
    const next = (after: number): number => after - (Math.log(1 - random()) * 1_000) / ROUTES[route].perSecond;
    for (let atMs = next(0); atMs < ms; atMs = next(atMs)) arrivals.push({ route, atMs });

    return arrivals;
  }).toSorted((a, b) => a.atMs - b.atMs);
}

/**
 * Sends each request when it is due, whether those before have been answered or not, and at the same moment one to the
 * bare application, which shall answer when the budget of the other is over.
 */
export async function askOpenLoop(servers: Servers, arrivals: readonly Arrival[]): Promise<Asked> {
  return overKeptConnections(servers.application, ({ agent }) =>
    overKeptConnections(servers.bare, async ({ agent: bareAgent }) => {
      const startedAt = performance.now();
      const asked: Promise<readonly [Answer, BareAnswer]>[] = [];
      for (const { route, atMs } of arrivals) {
        const due = startedAt + atMs;
        if (due > performance.now()) await delay(due - performance.now());
        const { method, budgetMs } = ROUTES[route];
        const target = { url: `${servers.application}/${route}`, agent, method, patienceMs: PATIENCE_MS };
        const bareTarget = { url: `${servers.bare}/wait?ms=${budgetMs}`, agent: bareAgent, patienceMs: PATIENCE_MS };
        asked.push(
          Promise.all([
            ask(target, due).then(
              (answered) => answerOf(route, due, answered),
              (error: unknown) => noAnswer(route, due, error),
            ),
            ask(bareTarget, due).then(({ ms }) => ({ dueAt: momentOf(due), ms, lateMs: ms - budgetMs })),
          ]),
        );
      }
      const answered = await Promise.all(asked);

      return { answers: answered.map(([answer]) => answer), bare: answered.map(([, bare]) => bare) };
    }),
  );
}

/** On the clock that all processes share. */
function momentOf(performanceNow: number): number {
  return moment() - performance.now() + performanceNow;
}

function answerOf(route: RouteName, due: number, { ms, status = 0, body }: Answered): Answer {
  const missing = status === 200 ? missingIn(body) : [];

  return { route, dueAt: momentOf(due), ms, kind: kindOf(status, missing), told: String(status), missing };
}

function noAnswer(route: RouteName, due: number, error: unknown): Answer {
  const ms = performance.now() - due;

  return { route, dueAt: momentOf(due), ms, kind: 'none', told: String(error), missing: [] };
}

const KINDS: Readonly<Record<number, AnswerKind>> = { 502: 'failed', 503: 'rejected', 504: 'timed out' };

function kindOf(status: number, missing: readonly string[]): AnswerKind {
  if (status === 200 || status === 201) return missing.length === 0 ? 'whole' : 'degraded';

  return KINDS[status] ?? 'unexpected';
}

/** What stands in for an answer counts as a part that is missing: all of it. */
function missingIn(body: string): readonly string[] {
  const { from, degraded = [] } = JSON.parse(body) as { from?: string; degraded?: { section: string }[] };

  return from === undefined ? degraded.map(({ section }) => section) : ['answer'];
}
