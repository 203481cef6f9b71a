import { AsyncResource } from 'node:async_hooks';
import { install, type Clock } from '@sinonjs/fake-timers';

/** Time that passes only when a scenario says so. */
export interface VirtualClock {
  /** Milliseconds since the scenario began. */
  readonly now: number;
  /** Lets time pass, with everything that is due in it and what follows from that. */
  tick(ms: number): Promise<void>;
  /** Lets everything run that needs no time. */
  settle(): Promise<void>;
  /** Sets the wall clock ahead by so much, or back, as an administrator does: no time passes. */
  step(ms: number): void;
  /** Timers that wait. */
  readonly timers: number;
}

/** How many turns of the event loop promises get before they count as settled. */
const TURNS = 20;

export class InstalledClock implements VirtualClock {
  private readonly clock: Clock;
  private startedAt: number;
  /** How often something was asked of it. */
  moves = 0;

  constructor() {
    this.clock = install({
      now: Date.now(),
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance', 'hrtime'],
      ignoreMissingTimers: true,
    });
    this.startedAt = this.clock.now;
    keepContexts();
  }

  get now(): number {
    return this.clock.now - this.startedAt;
  }

  get timers(): number {
    return this.clock.countTimers();
  }

  async tick(ms: number): Promise<void> {
    await this.settle();
    await this.clock.tickAsync(ms);
    await this.settle();
  }

  step(ms: number): void {
    this.startedAt += ms;
    this.clock.setSystemTime(this.clock.now + ms);
  }

  async settle(): Promise<void> {
    this.moves += 1;
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  uninstall(): void {
    this.clock.uninstall();
  }
}

/** As the platform's own, timers run in the asynchronous context of whoever set them; those of the fake clock do not. */
function keepContexts(): void {
  const { setTimeout: fakeTimeout, setInterval: fakeInterval } = globalThis;
  const bound =
    (set: typeof fakeTimeout) =>
    (callback: () => void, ms?: number, ...given: []) =>
      set(AsyncResource.bind(callback), ms, ...given);

  globalThis.setTimeout = bound(fakeTimeout) as typeof fakeTimeout;
  globalThis.setInterval = bound(fakeInterval as unknown as typeof fakeTimeout) as unknown as typeof fakeInterval;
}
