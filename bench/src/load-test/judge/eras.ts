import { BREAKERS, type BreakerName } from '../settings.js';
import type { Evidence, Story } from './evidence.js';

export type State = 'closed' | 'open' | 'half-open';

interface Moment {
  readonly at: number;
  readonly place: number;
  readonly state: State | 'end';
}

/** From one change of a breaker's state to the next. */
export interface Era {
  readonly state: State;
  readonly from: Moment;
  readonly to: Moment;
}

interface Counted {
  readonly total: number;
  readonly failures: number;
}

/** What a breaker said of itself at one moment, and what the calls since it was closed say. */
export interface Look {
  readonly name: BreakerName;
  readonly when: string;
  readonly isOpening: boolean;
  readonly stats: Counted;
  readonly least: Counted;
  readonly most: Counted;
}

/** How far the end of a call and its place in the window may lie apart: in time, and in what happens meanwhile. */
const APART_MS = 5;
const APART_PLACES = 12;

/** The life of one breaker, era by era. */
export class Eras {
  private readonly eras: readonly Era[];
  private readonly stories: readonly Story[];

  constructor(
    private readonly evidence: Evidence,
    private readonly name: BreakerName,
  ) {
    const changes = (['closed', 'open', 'half-open'] as const)
      .flatMap((state) => evidence.eventsOf(`circuit-${state}`, name).map(({ at, place }) => ({ at, place, state })))
      .toSorted((a, b) => a.place - b.place);
    const begin: Moment = { at: 0, place: -1, state: 'closed' };
    const end: Moment = { at: evidence.record.phases.at(-1)?.to ?? 0, place: Infinity, state: 'end' };
    const moments: readonly Moment[] = [begin, ...changes, end];
    this.eras = changesOf(moments);
    this.stories = evidence.storiesOf(name);
  }

  of(state: State): readonly Era[] {
    return this.eras.filter((era) => era.state === state);
  }

  /** When it opened out of its closed state, and at each rest while it was closed. */
  looks(): readonly Look[] {
    const { evidence, name } = this;

    return this.of('closed').flatMap((era) => {
      const looks: Look[] = [];
      for (let place = era.from.place + 1; place <= Math.min(era.to.place, evidence.entries.length - 1); place++) {
        const entry = evidence.entries[place];
        if (entry?.kind === 'rest') {
          const stats = entry.figures.breakers[name];
          looks.push({ name, when: 'at rest', isOpening: false, stats, ...this.bounds(era, { at: Infinity, place }) });
        } else if (entry?.kind === 'event' && place === era.to.place && entry.event.stats !== undefined) {
          const { stats } = entry.event;
          looks.push({
            name,
            when: 'when it opened',
            isOpening: true,
            stats,
            ...this.bounds(era, { at: entry.at, place }),
          });
        }
      }
      return looks;
    });
  }

  /** The fewest and the most calls that can have been counted by then, and failures among them. */
  private bounds(
    { from }: Era,
    to: { readonly at: number; readonly place: number },
  ): { least: Counted; most: Counted } {
    const isRest = to.at === Infinity;
    const counted = this.stories
      .filter(({ startPlace, made }) => startPlace > from.place && made !== 'cancelled' && made !== undefined)
      .filter(({ endAt, endPlace }) =>
        isRest ? endPlace < to.place : endAt <= to.at + APART_MS || endPlace <= to.place + APART_PLACES,
      )
      .toSorted((a, b) => a.endPlace - b.endPlace);
    const isSure = (story: Story): boolean =>
      (from.place === -1 || story.startAt > from.at + APART_MS) &&
      (isRest || (story.endAt < to.at - APART_MS && story.endPlace < to.place - APART_PLACES)) &&
      !(story.made === 'timed out' && this.evidence.isStalled(story.startAt - APART_MS, story.endAt + APART_MS));
    const { size } = BREAKERS[this.name].slidingWindow;

    return lastOf(
      counted.map((story) => ({ isFailure: story.made !== 'ok', isSure: isSure(story) })),
      size,
    );
  }
}

function changesOf(moments: readonly Moment[]): readonly Era[] {
  return moments.slice(1).map((to, index) => {
    const from = moments[index] as Moment;
    return { state: from.state as State, from, to };
  });
}

interface Candidate {
  readonly isFailure: boolean;
  readonly isSure: boolean;
}

/** What a window of this size can hold of calls that ended in about this order. */
export function lastOf(candidates: readonly Candidate[], size: number): { least: Counted; most: Counted } {
  const sure = candidates.filter(({ isSure }) => isSure).length;
  const unsure = candidates.length - sure;
  // What fell out of the window fell out in the order of the calls; those that are unsure shift it.
  const isFull = candidates.length > size;
  const shift = isFull ? unsure + SHUFFLED : 0;
  const inAnyCase = candidates.slice(Math.max(0, candidates.length - size + shift));
  const perhaps = candidates.slice(Math.max(0, candidates.length - size - shift));

  return {
    least: {
      total: Math.min(size, sure),
      failures: inAnyCase.filter(({ isFailure, isSure }) => isFailure && isSure).length,
    },
    most: {
      total: Math.min(size, candidates.length),
      failures: Math.min(size, perhaps.filter(({ isFailure }) => isFailure).length),
    },
  };
}

/** Calls that end in one turn of the event loop may be counted in another order. */
const SHUFFLED = 4;
