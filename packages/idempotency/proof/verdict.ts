import { chargedIn, type Answer, type Asked } from './clients.js';
import type { Effect } from './effects.js';
import type { Evidence, Story } from './evidence.js';
import { overlaps, type Span } from './moment.js';

/** How much later than a lock's end, or an outage's, a call may still be refused: what a busy machine takes for a request. */
const GRACE_MS = 1_000;

/** A sentence that does not hold. */
export interface Violation {
  readonly what: string;
  /** The key that shows it, unless it is about a server. */
  readonly story?: Story;
}

export function violationsIn(evidence: Evidence): readonly Violation[] {
  const crashes = [...evidence.lives.values()].filter(({ hasCrashed }) => hasCrashed);

  return [
    ...crashes.map(({ name }) => ({ what: `server ${name} ended by itself` })),
    ...evidence.stories.flatMap((story) =>
      RULES.flatMap((rule) => rule(story, evidence)).map((broken) => ({
        what: `key ${story.charge.key} ${broken}`,
        story,
      })),
    ),
  ];
}

type Rule = (story: Story, evidence: Evidence) => readonly string[];

/** As many effects as there were runs whose answer could be lost; with a joined transaction, one. */
const effects: Rule = ({ effects: found }, evidence) => {
  if (evidence.joined) {
    return found.length < 2 ? [] : [`has ${found.length} effects in spite of the joined transaction`];
  }

  const inTime = found.filter((effect) => !isLate(effect, evidence));
  return inTime
    .slice(0, -1)
    .filter((effect, at) => !mayBeRepeated(effect, (inTime[at + 1] as Effect).at, evidence))
    .map(({ life, run }) => `run ${run} of ${life}, which nothing had disturbed, was followed by another`);
};

/** Its process stood still while it had the lock: what it does after that it does without one, and nobody can keep it from it. */
function isLate({ life, arrived, at }: Effect, evidence: Evidence): boolean {
  return stoodStill(life, evidence).some((span) => overlaps(span, arrived, at));
}

function stoodStill(life: string, { lives, stalls }: Evidence): readonly Span[] {
  return [...(lives.get(life)?.frozen ?? []), ...stalls.filter((stall) => stall.life === life)];
}

/** Its process was killed, or it had lost the lock in the meantime. */
function mayBeRepeated({ life, at }: Effect, next: number, evidence: Evidence): boolean {
  const { lives, outages, lockTtl } = evidence;
  const { killedAt = Infinity } = lives.get(life) ?? {};
  if (killedAt <= next || stoodStill(life, evidence).some((span) => overlaps(span, at, next))) return true;

  // A lock that was renewed just before lives on through two thirds of its time, at least.
  return outages.some((span) => overlaps(span, at, next) && span.to - span.from > (lockTtl * 2) / 3);
}

/** What a store has acknowledged is final. */
const acknowledged: Rule = ({ acknowledged: kept, effects: found }, evidence) => {
  const runs = new Set(kept.map(({ run }) => run));
  if (runs.size > 1) return [`the answers of ${runs.size} runs were acknowledged`];

  return kept.flatMap(({ run, at }) =>
    found
      .filter((effect) => effect.run !== run && effect.at > at && !isLate(effect, evidence))
      .map(({ life }) => `an effect of ${life} came after the answer of run ${run} had been acknowledged`),
  );
};

/** Whoever does not run the handler gets what was kept, and nothing else. */
const replays: Rule = ({ charge, asked, acknowledged: kept, effects: found }) => {
  const bodies = new Set(asked.flatMap(({ answer }) => bodyOf(answer, 'replay')));
  const answers = asked.flatMap(({ answer }) => bodyOf(answer)).map(chargedIn);
  const stranger = answers.find(({ key, amount }) => key !== charge.key || amount !== charge.amount);
  const effectless = answers.find(({ run }) => !found.some((effect) => effect.run === run));
  const keptRun = kept[0]?.run;
  const replayed = [...bodies].map(chargedIn);

  return [
    ...(bodies.size > 1 ? [`was answered with ${bodies.size} different replays`] : []),
    ...(stranger === undefined ? [] : [`was answered with what belongs to ${JSON.stringify(stranger)}`]),
    ...(effectless === undefined ? [] : [`was answered with run ${effectless.run}, which has no effect`]),
    ...(keptRun !== undefined && replayed.some(({ run }) => run !== keptRun)
      ? [`was replayed another run than ${keptRun}, which was acknowledged`]
      : []),
  ];
};

/** After an answer that was kept there is no other one. */
const final: Rule = ({ asked, acknowledged: kept, charge }) => {
  const runs = new Set(kept.map(({ run }) => run));
  const keptAt = asked
    .filter(({ answer }) => bodyOf(answer).some((body) => runs.has(chargedIn(body).run)))
    .map(({ endedAt = Infinity }) => endedAt);
  // The first try to store it may have failed, after which its caller is not kept waiting.
  const since = Math.max(Math.min(...keptAt), kept[0]?.at ?? Infinity);

  return asked
    .filter(({ sentAt }) => sentAt > since)
    .filter(({ answer, charge: { amount } }) => !isFinal(answer, amount === charge.amount))
    .map(({ answer }) => `was answered ${answer?.kind} although its answer had been kept`);
};

function isFinal(answer: Answer | undefined, isSame: boolean): boolean {
  switch (answer?.kind) {
    case 'cut':
    case 'refused':
    case 'unavailable':
      return true;
    default:
      return answer?.kind === (isSame ? 'replay' : 'reused');
  }
}

/** Nobody is refused for longer than `lockTtl` and a second after the last sign of whoever may hold the lock. */
const blocked: Rule = ({ asked }, { lockTtl, outages, stalls, lives }) => {
  const frozen = [...lives.values()].flatMap((life) => life.frozen);

  return asked
    .filter((refused) => refused.answer?.kind === 'conflict' && !mayHaveLostLock(refused, frozen))
    .filter((refused) => {
      const since = refused.sentAt - lockTtl - GRACE_MS;
      const isHeld = asked.some((other) => other !== refused && isSignOfLife(other, { since, refused, frozen }));

      // What a process asks of a busy store may be done long after the process was killed.
      return !isHeld && ![...outages, ...stalls].some((span) => overlaps(span, since, refused.sentAt));
    })
    .map(({ sentAt }) => `is blocked: refused at ${Math.round(sentAt)} although nobody could hold it any more`);
};

/** What is answered by somebody who has never had a lock. */
const WITHOUT_LOCK: readonly (Answer['kind'] | undefined)[] = ['conflict', 'refused', 'replay', 'reused'];

interface Refusal {
  readonly since: number;
  readonly refused: Asked;
  readonly frozen: readonly Span[];
}

function isSignOfLife(asked: Asked, { since, refused, frozen }: Refusal): boolean {
  const { sentAt, endedAt = Infinity, answer } = asked;
  if (WITHOUT_LOCK.includes(answer?.kind) && !mayHaveLostLock(asked, frozen)) return false;

  return sentAt <= (refused.endedAt ?? Infinity) && endedAt >= since;
}

/** Whoever stood still with a lock, until it was another one's, is told the same as somebody who never had it. */
function mayHaveLostLock({ sentAt, endedAt = Infinity, answer }: Asked, frozen: readonly Span[]): boolean {
  return answer?.kind === 'conflict' && frozen.some(({ from, to }) => sentAt <= from && to <= endedAt);
}

/** Clients get answers that are written down, and an outage is told only while there is one. */
const documented: Rule = ({ asked, charge }, { outages, lives }) => {
  const odd = asked.flatMap(({ answer }) => (answer?.kind === 'odd' ? [`was answered ${answer.what}`] : []));
  const untold = asked.filter(({ answer }) => answer === undefined).map(() => 'a request was never answered');
  const groundless = asked
    .filter(({ answer }) => answer?.kind === 'unavailable')
    .filter(({ sentAt, endedAt = Infinity }) => !outages.some((span) => overlaps(span, sentAt - GRACE_MS, endedAt)))
    .map(() => 'was answered that the store is unavailable, which it was not');
  // Another payload is sent when the first one has been answered: the key is never its.
  const denied = asked
    .filter(({ answer, charge: { amount } }) => answer?.kind === 'reused' && amount === charge.amount)
    .map(() => 'was told to be the key of another payload');
  const accepted = asked
    .filter((one) => one.charge.amount !== charge.amount && bodyOf(one.answer).length > 0)
    .map(() => 'another payload was answered');
  const wasKilled = [...lives.values()].some(({ killedAt }) => killedAt !== undefined);
  const cut = wasKilled
    ? []
    : asked
        .filter(({ answer }) => answer?.kind === 'cut' || answer?.kind === 'refused')
        .map(() => 'a connection broke although no server was killed');

  const never = asked.some(({ answer }) => bodyOf(answer).length > 0) ? [] : ['has no answer for good'];

  return [...never, ...odd, ...untold, ...groundless, ...denied, ...accepted, ...cut];
};

function bodyOf(answer: Answer | undefined, kind?: 'run' | 'replay'): readonly string[] {
  if (answer?.kind !== 'run' && answer?.kind !== 'replay') return [];

  return kind === undefined || kind === answer.kind ? [answer.body] : [];
}

const RULES: readonly Rule[] = [effects, acknowledged, replays, final, blocked, documented];
