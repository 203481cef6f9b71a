import { show, type Watch } from '../watch.js';

/** What has been spent since a call came to a stage that may refuse it. */
export class RefusalCost {
  private readonly before: Watch['spent'];

  constructor(private readonly watch: Watch) {
    this.before = watch.spent;
  }

  requireNone(name: string, error: unknown): void {
    const { timers, controllers } = this.watch.spent;
    const require = (holds: boolean, what: string): void =>
      this.watch.require(holds, 'refusals-cost-nothing', `${name}: ${what} for ${show(error)}`);
    require(timers === this.before.timers, 'started a timer');
    require(controllers === this.before.controllers, 'made a controller');
    require(!/\n\s+at /.test((error as Error).stack ?? ''), 'captured a stack');
  }
}
