import { show, type Watch } from '../watch.js';

/** What has been spent since a call came to a stage that may refuse it. */
export class RefusalCost {
  private readonly timers: number;
  private readonly controllers: number;

  constructor(private readonly watch: Watch) {
    this.timers = watch.world.timersStarted;
    this.controllers = watch.world.controllersMade;
  }

  requireNone(name: string, error: unknown): void {
    const { timersStarted, controllersMade } = this.watch.world;
    const require = (holds: boolean, what: string): void =>
      this.watch.require(holds, 'refusals-cost-nothing', `${name}: ${what} for ${show(error)}`);
    require(timersStarted === this.timers, 'started a timer');
    require(controllersMade === this.controllers, 'made a controller');
    require(!/\n\s+at /.test((error as Error).stack ?? ''), 'captured a stack');
  }
}
