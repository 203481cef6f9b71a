type Limits = 'maxConcurrent' | 'maxQueue' | 'queueTimeout' | 'timeout';
export type BulkheadSettings = Readonly<Record<Limits, number>> & { readonly holdUntilSettled: boolean };
type Ended = 'answer' | 'full' | 'queue-timeout' | 'timeout' | 'abort';
type Call = { place: 'queue' | 'granted' | 'slot' | 'out'; works: boolean; quick: boolean; ended?: Ended };
type Due = { at: number; call: Call; ended: Ended };

/** What a bulkhead inside a timeout has to do, told again plainly. `quick` work ends as soon as it has begun. */
export class BulkheadModel {
  readonly calls: Call[] = [];
  readonly started: number[] = [];
  private readonly dues: Due[] = [];

  constructor(private readonly settings: BulkheadSettings) {}

  counts(): { active: number; queued: number; abandoned: number } {
    const abandoned = this.calls.filter((call) => call.place === 'out' && call.works).length;
    const inside = this.calls.filter((call) => call.place === 'granted' || call.place === 'slot').length;
    const queued = this.calls.filter((call) => call.place === 'queue').length;
    if (this.settings.holdUntilSettled) return { active: inside + abandoned, queued, abandoned: 0 };
    return { active: inside, queued, abandoned };
  }

  arrive(quick: boolean, now: number): void {
    const { maxConcurrent, maxQueue, queueTimeout, timeout } = this.settings;
    const { active, queued } = this.counts();
    const call: Call = { place: 'granted', works: false, quick };
    this.calls.push(call);
    if (active >= maxConcurrent && queued >= maxQueue) return this.leave(call, 'full');
    this.dues.push({ at: now + timeout, call, ended: 'timeout' });
    if (active >= maxConcurrent) call.place = 'queue';
    if (active >= maxConcurrent) this.dues.push({ at: now + queueTimeout, call, ended: 'queue-timeout' });
  }

  leave(call: Call, ended: Ended): void {
    if (call.ended === undefined) Object.assign(call, { place: 'out', ended });
    const next = this.calls.find(({ place }) => place === 'queue');
    if (next !== undefined && this.counts().active < this.settings.maxConcurrent) next.place = 'granted';
  }

  begin(): void {
    for (let call = this.granted(); call !== undefined; call = this.granted()) {
      Object.assign(call, { place: 'slot', works: !call.quick });
      this.started.push(this.calls.indexOf(call));
      if (call.quick) this.leave(call, 'answer');
    }
  }

  pass(until: number): void {
    const stands = ({ call, ended }: Due): boolean => ended === 'timeout' || call.place === 'queue';
    const applies = (due: Due): boolean => due.at <= until && due.call.ended === undefined && stands(due);
    for (let due = this.dues.filter(applies); due.length > 0; due = this.dues.filter(applies)) {
      const at = Math.min(...due.map((next) => next.at));
      for (const next of due) if (next.at === at && applies(next)) this.leave(next.call, next.ended);
      this.begin();
    }
  }

  private granted = (): Call | undefined => this.calls.find(({ place }) => place === 'granted');
}
