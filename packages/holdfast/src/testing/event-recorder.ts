import { subscribe, type ResilienceEvent, type ResilienceListener } from '../events.js';

interface Observable {
  subscribe(listener: ResilienceListener): () => void;
}

/** Writes down events, for assertions: those of one policy, or of the whole process. */
export class EventRecorder {
  /** In the order in which they were emitted. */
  readonly events: ResilienceEvent[] = [];
  readonly #stop: () => void;

  /** @param source A policy; without one, all policies of the process. */
  constructor(source?: Observable) {
    const record: ResilienceListener = (event) => void this.events.push(event);
    this.#stop = source === undefined ? subscribe(record) : source.subscribe(record);
  }

  get types(): readonly ResilienceEvent['type'][] {
    return this.events.map((event) => event.type);
  }

  /** The events of one type. */
  of<T extends ResilienceEvent['type']>(type: T): readonly Extract<ResilienceEvent, { type: T }>[] {
    return this.events.filter((event): event is Extract<ResilienceEvent, { type: T }> => event.type === type);
  }

  clear(): void {
    this.events.length = 0;
  }

  stop(): void {
    this.#stop();
  }
}
