import type { Answer, BareAnswer, Entry, MadeOutcome, PolicyEvent, RunRecord, SeenCall } from '../records.js';
import type { CallName } from '../settings.js';

/** A call of the dependency, as both sides tell of it. */
export interface Story {
  readonly id: number;
  readonly name: CallName;
  readonly startAt: number;
  /** Places in the order of what happened in the application. */
  readonly startPlace: number;
  endAt: number;
  endPlace: number;
  made: MadeOutcome | undefined;
  /** `undefined` when it never came to the dependency. */
  seen: SeenCall | undefined;
}

export interface PlacedEvent {
  readonly at: number;
  readonly place: number;
  readonly event: PolicyEvent;
}

/** Long enough for our policies to take a late timer for a held event loop. */
const STALL_MS = 40;

/** When the event loop was not held for so long, nothing is left of what had piled up. */
const CALM_MS = 100;

/** All that was written down, put together. */
export class Evidence {
  readonly entries: readonly Entry[];
  readonly stories = new Map<number, Story>();
  readonly events: PlacedEvent[] = [];
  readonly answers: readonly Answer[];
  readonly bare: readonly BareAnswer[];
  private readonly held: Extract<Entry, { kind: 'held' }>[] = [];
  private readonly seen: readonly SeenCall[];

  constructor(readonly record: RunRecord) {
    const { phases } = record;
    this.entries = phases.flatMap(({ entries }) => entries);
    this.answers = phases.flatMap(({ answers }) => answers);
    this.bare = phases.flatMap(({ bare }) => bare);
    this.seen = phases.flatMap(({ seen }) => seen);
    this.entries.forEach((entry, place) => this.read(entry, place));
    for (const seen of this.seen) {
      const story = this.stories.get(seen.id);
      if (story !== undefined) story.seen = seen;
    }
  }

  storiesOf(name: CallName): readonly Story[] {
    return [...this.stories.values()].filter((story) => story.name === name);
  }

  eventsOf(type: string, about?: string): readonly PlacedEvent[] {
    return this.events.filter(
      ({ event }) => event.type === type && (about === undefined || event.policy === about || event.source === about),
    );
  }

  /** Calls that the dependency saw, and nobody made. */
  unknown(): readonly SeenCall[] {
    return this.seen.filter(({ id }) => !this.stories.has(id));
  }

  /** For how long between two moments the machine had no processor for the application. */
  starvedMs(from: number, to: number): number {
    return this.heldBetween(from, to).reduce((sum, { starvedMs }) => sum + starvedMs, 0);
  }

  /**
   * What the machine is to blame for of how late something was that came and ended at these moments: since the trouble
   * began in which it came, since what had piled up until then was still before it. All of that when it was for want of
   * a processor above all, else that want alone.
   */
  machineLateMs(from: number, to: number): number {
    const { held } = this;
    let first = held.findIndex(({ at, ms }) => at >= from && at - ms <= to);
    const isTrouble = (place: number): boolean => {
      const [before, after] = [held[place - 1], held[place]];
      return before !== undefined && after !== undefined && after.at - after.ms - before.at < CALM_MS;
    };
    while (isTrouble(first)) first -= 1;
    const begin = held[first];
    if (begin === undefined) return 0;

    const since = Math.min(from, begin.at - begin.ms);
    const starvedMs = this.starvedMs(since, to);
    const heldMs = this.heldMs(since, to);
    return starvedMs * 2 > heldMs ? heldMs : starvedMs;
  }

  /** For how long between two moments the event loop of the application was held, whoever is to blame. */
  heldMs(from: number, to: number): number {
    return this.heldBetween(from, to).reduce((sum, { ms }) => sum + ms, 0);
  }

  /** Whether timers may have been taken for late ones. */
  isStalled(from: number, to: number): boolean {
    return this.heldBetween(from, to).some(({ ms }) => ms > STALL_MS);
  }

  private heldBetween(from: number, to: number): readonly Extract<Entry, { kind: 'held' }>[] {
    return this.held.filter(({ at, ms }) => at >= from && at - ms <= to);
  }

  private read(entry: Entry, place: number): void {
    const { kind, at } = entry;
    if (kind === 'start') {
      const { id, name } = entry;
      const end = { endAt: Infinity, endPlace: Infinity, made: undefined, seen: undefined };
      this.stories.set(id, { id, name, startAt: at, startPlace: place, ...end });
    } else if (kind === 'end') {
      const story = this.stories.get(entry.id);
      if (story !== undefined) Object.assign(story, { endAt: at, endPlace: place, made: entry.outcome });
    } else if (kind === 'event') {
      this.events.push({ at, place, event: entry.event });
    } else if (kind === 'held') {
      this.held.push(entry);
    }
  }
}
